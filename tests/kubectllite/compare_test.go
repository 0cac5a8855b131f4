package kubectllite

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/tests/controlplane"
)

// difference is one in words, that is meant: what kubectl-lite says, and what kubectl says instead.
type difference struct {
	why        string
	lite, full *regexp.Regexp
}

// meant are all of them.
var meant = []difference{
	{"kubectl-lite tells what became of the object, as kubectl apply does without --server-side",
		regexp.MustCompile(`(?m)^(\S+) (created|configured|unchanged)( \(server dry run\))?$`),
		regexp.MustCompile(`(?m)^(\S+) (serverside-applied)( \(server dry run\))?$`)},
	{"-f is cobra's required flag, for there is no -k and there are no names",
		regexp.MustCompile(`required flag\(s\) "filename" not set`),
		regexp.MustCompile(`must specify one of -f and -k|(?s)You must provide one or more resources by argument or filename.*'<resource>'`)},
	{"the advice after a conflict is shorter",
		regexp.MustCompile(`(?s)Each of these fields has another manager.*that they have now\.`),
		regexp.MustCompile(`(?s)Please review the fields above.*#conflicts`)},
	{"a flag that is refused, or takes fewer values, has its own reason",
		regexp.MustCompile(`(?m)^error: (--prune is not supported|unexpected -o output mode|invalid dry-run value|--dry-run=client is not supported).*$`),
		regexp.MustCompile(`(?m)^error: (all resources selected for prune|unable to match a printer|Invalid dry-run value|invalid dry-run value|--dry-run=client doesn't work).*$`)},
}

// reconcile puts one word in place of each difference that is meant.
func (d difference) reconcile(name, text string) (masked string, found bool) {
	pattern := d.lite
	if name == "full" {
		pattern = d.full
	}
	return pattern.ReplaceAllString(text, "$1 MEANT$3"), pattern.MatchString(text)
}

func TestKubectlLite_DoesWhatKubectlDoes(t *testing.T) {
	both := programs(t)
	all := inputs()
	require.GreaterOrEqual(t, len(all), 40)
	require.LessOrEqual(t, len(meant), 4)
	var told [2][]string
	t.Run("server=embedded", func(t *testing.T) { told[0] = compare(t, newSite(t, embedded(t)), both, all) })
	t.Run("server=upstream", func(t *testing.T) {
		plane := controlplane.Start(t)
		told[1] = compare(t, newSite(t, plane.Kubeconfig(controlplane.Admin)), both, all)
	})
	if t.Failed() || told[1] == nil {
		return
	}
	for i, in := range all {
		assert.Equal(t, told[1][i], told[0][i], "%s: kubectl-lite can tell our server from a real one", in.name)
	}
}

// compare returns what kubectl-lite did with each input.
func compare(t *testing.T, s *site, both []program, all []input) (told []string) {
	used := make([]bool, len(meant))
	for number, in := range all {
		t.Run(strings.ReplaceAll(in.name, " ", "_"), func(t *testing.T) {
			var seen [2]string
			for i, p := range both {
				at := s.place(t, p, number)
				in.play(at)
				seen[i] = at.notes.String() + "objects:\n" + at.objects()
			}
			told = append(told, seen[0])
			for i, d := range meant {
				var lite, full bool
				seen[0], lite = d.reconcile("lite", seen[0])
				seen[1], full = d.reconcile("full", seen[1])
				used[i] = used[i] || lite && full
			}
			assert.Equal(t, seen[1], seen[0], "kubectl-lite differs from kubectl")
		})
	}
	for i, d := range meant {
		assert.True(t, used[i], "no input shows this difference: %s", d.why)
	}
	return told
}
