package demo

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pasted returns the words of one call of curl, as a shell reads what was printed: blanks in front of lines and all.
func pasted(t require.TestingT, printed string) (words []string) {
	joined := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(printed, "")
	require.NotContains(t, strings.TrimSpace(joined), "\n", "a second command")
	for _, word := range regexp.MustCompile(`'[^']*'|[^'\s]+`).FindAllString(joined, -1) {
		require.True(t, word[0] == '\'' || !strings.ContainsAny(word, "&?*;\"$"), "a shell does not read %s as it is", word)
		words = append(words, strings.Trim(word, "'"))
	}
	require.Equal(t, "curl", words[0])
	return words[1:]
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
		words := pasted(t, strings.TrimPrefix(printed, "   sent  "))
		require.Equal(t, "http://127.0.0.1:43210"+path, asked(words))
		options := map[bool]string{false: "-sN", true: "-sNG"}[strings.Count(printed, "\n") > 1]
		require.Equal(t, options, words[0])
	})
}
