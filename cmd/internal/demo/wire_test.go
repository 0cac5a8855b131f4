package demo

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pasted has a shell read what was printed, blanks in front of its lines and all, and returns the words of each call of curl.
func pasted(t require.TestingT, printed string) (calls [][]string) {
	shell := exec.Command("sh", "-eu")
	shell.Stdin = strings.NewReader("curl() { printf '%s\\n' \"$@\" end; }\n" + printed + "\n")
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for call := range strings.SplitSeq(strings.TrimSuffix(string(out), "end\n"), "end\n") {
		calls = append(calls, strings.Split(strings.TrimSuffix(call, "\n"), "\n"))
	}
	return calls
}

// asked is the URL that curl asks for: -G joins what the -d say.
func asked(words []string) string {
	url, data := words[1], []string{}
	for i := 2; i < len(words); i += 2 {
		data = append(data, words[i+1])
	}
	if len(data) == 0 {
		return url
	}
	return url + "?" + strings.Join(data, "&")
}

func TestCurl_IsOneCommandForTheSameURLOnLinesThatFit(t *testing.T) {
	parameter := rapid.SampledFrom([]string{"watch=true", "labelSelector=group%3Dstarts%2Cb", "resourceVersion=1234", "sendInitialEvents=true",
		"allowWatchBookmarks=true", "resourceVersionMatch=NotOlderThan", "fieldSelector=metadata.name%3Dc", "timeout=1s"})
	rapid.Check(t, func(t *rapid.T) {
		path := "/api/v1/namespaces/demo/configmaps"
		if parameters := rapid.SliceOfN(parameter, 0, 8).Draw(t, "parameters"); len(parameters) > 0 {
			path += "?" + strings.Join(parameters, "&")
		}
		var out bytes.Buffer
		NewPrinter(&out).Entry("sent", "", curl("http://127.0.0.1:43210", path))
		printed := out.String()
		for line := range strings.Lines(printed) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), columns, "%s", line)
		}
		calls := pasted(t, strings.TrimPrefix(printed, "   sent  "))
		require.Len(t, calls, 1)
		require.Equal(t, "http://127.0.0.1:43210"+path, asked(calls[0]))
		options := map[bool]string{false: "-sN", true: "-sNG"}[strings.Count(printed, "\n") > 1]
		require.Equal(t, options, calls[0][0])
	})
}
