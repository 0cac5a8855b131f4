package demo

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// named is how pflag names a flag whose value is wrong, however it was spelled: for "-v, --v" flag.
var named = regexp.MustCompile(`for "(-., )?--[a-z-]+" flag`)

// FuzzFlags checks that any words are a valid command line of a numbered demo, or an error that names the wrong word.
func FuzzFlags(f *testing.F) {
	for _, line := range []string{"", "--follow", "--follow=false", "--follow=perhaps", "--kubeconfig=x", "--kubeconfig", "--kubeconfig=", "--context=x", "--kubeconfig=a\n--context=b",
		"--context=x\n--kubeconfig=", "--log-format=json", "--log-format=xml", "--log-format", "--log-file=x", "--log-file=", "-v=4", "-v", "-v=", "-v=-3", "-v=1e3", "-v4", "-v=2147483648",
		"--help", "-h", "extra", "--", "--\nextra", "-", "--=", "---follow", "--Follow", "--foll", "-f", "--follow\n--follow", "--kubeconfig\n--follow", "\x00", "--\xff"} {
		f.Add(line)
	}
	story := Story{Name: "00-test", Title: "A test"}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\n")
		var out bytes.Buffer
		o, err := parse(story, args, &out)
		if errors.Is(err, pflag.ErrHelp) {
			require.Contains(t, out.String(), "go run ./cmd/00-test [flags]")
			return
		}
		if err != nil {
			require.True(t, named.MatchString(err.Error()) || slices.ContainsFunc(args, func(arg string) bool {
				name, _, _ := strings.Cut(arg, "=")
				return strings.Contains(err.Error(), name) || strings.Contains(err.Error(), strconv.Quote(arg))
			}), "no word is named: %q: %v", args, err)
			return
		}
		require.Contains(t, []string{"text", "json"}, o.log.Format)
		require.True(t, o.cluster.Kubeconfig != "" || o.cluster.Context == "")
		if slices.Contains(args, "--") || slices.Contains(args, "") {
			return // what is repeated behind it are no flags
		}
		again, err := parse(story, append(slices.Clone(args), args...), &out)
		require.NoError(t, err, "saying it twice is no error")
		require.Equal(t, o.log.Verbosity(), again.log.Verbosity())
		require.Equal(t, o.log.Format+o.log.File, again.log.Format+again.log.File)
		again.log = o.log
		require.Equal(t, o, again)
	})
}
