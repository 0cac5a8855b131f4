package kubectllite

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

// difference is one in words, that is meant: what kubectl-lite says, and what kubectl says instead.
type difference struct {
	why        string
	lite, full *regexp.Regexp
}

// meant are all of them.
var meant = []difference{
	{"kubectl-lite tells what became of the object, as kubectl apply does without --server-side",
		regexp.MustCompile(`(?m)^(?P<kept>\S+) (created|configured|unchanged)(?P<end>| \(server dry run\))$`),
		regexp.MustCompile(`(?m)^(?P<kept>\S+) serverside-applied(?P<end>| \(server dry run\))$`)},
	{"a flag that is missing, is refused or takes fewer values has its own reason",
		regexp.MustCompile(`(?m)^error: (required flag\(s\) "filename" not set|--prune is not supported|unable to match a printer|` +
			`invalid dry-run value|--dry-run=client is not supported).*$`),
		regexp.MustCompile(`(?m)^error: (must specify one of -f and -k|(?s:You must provide one or more.*'<resource>')|` +
			`all resources selected for prune|unable to match a printer|Invalid dry-run value|--dry-run=client doesn't work).*$`)},
	{"the advice after a conflict is shorter",
		regexp.MustCompile(`(?s)Each of these fields has another manager.*?that they have now\.`),
		regexp.MustCompile(`(?s)Please review the fields above.*?#conflicts`)},
	{"kubectl asks for the OpenAPI documents before it maps a kind, so those are what it misses first",
		regexp.MustCompile(`error: unable to recognize "demo.yaml": Get "http.*?refused`),
		regexp.MustCompile(`error: error validating "demo.yaml": error validating data: failed to download openapi: Get "http.*`)},
}

// reconcile puts a word in place of what is meant to differ, in either's words.
func (d difference) reconcile(text string) string {
	for _, pattern := range []*regexp.Regexp{d.lite, d.full} {
		text = pattern.ReplaceAllString(text, "${kept}MEANT${end}")
	}
	return text
}

func TestKubectlLite_DoesWhatKubectlDoes(t *testing.T) {
	both := programs(t)
	all := inputs()
	require.GreaterOrEqual(t, len(all), 40)
	require.LessOrEqual(t, len(meant), 4)
	var told [2][]string
	t.Run("server=embedded", func(t *testing.T) {
		told[0] = compare(t, newSite(t, apiservertest.StartOnSocket(t, apiserver.Options{}).Kubeconfig()), both, all)
	})
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

var outcomeLine = regexp.MustCompile(`(?m)^(\S+/\S+) (created|configured|unchanged|serverside-applied)( \(server dry run\))?$`)

// checkWords holds what kubectl-lite says of each object against the objects before and after. kubectl has no such word,
// so the comparison cannot. After a dry run, only created can be told.
func checkWords(t *testing.T, said string, before, after map[string]*unstructured.Unstructured) {
	t.Helper()
	for _, line := range outcomeLine.FindAllStringSubmatch(said, -1) {
		want := "configured"
		switch old := before[line[1]]; {
		case old == nil:
			want = "created"
		case line[3] != "":
			require.Contains(t, []string{"configured", "unchanged"}, line[2], line[0])
			continue
		case reflect.DeepEqual(old, after[line[1]]):
			want = "unchanged"
		}
		require.Equal(t, want, line[2], line[0])
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
				used[i] = used[i] || d.lite.MatchString(seen[0]) && d.full.MatchString(seen[1])
				seen[0], seen[1] = d.reconcile(seen[0]), d.reconcile(seen[1])
			}
			assert.Equal(t, seen[1], seen[0], "kubectl-lite differs from kubectl")
		})
	}
	for i, d := range meant {
		assert.True(t, used[i], "no input shows this difference: %s", d.why)
	}
	return told
}
