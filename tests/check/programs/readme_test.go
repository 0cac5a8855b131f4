package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadme_ItsRatiosAreThoseOfThePage(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../docs/results/programs.md")
	require.NoError(t, err)
	_, said, found := strings.Cut(string(readme), "**What it saves.**")
	require.True(t, found)
	said, _, _ = strings.Cut(said, "`make programs`")
	claimed := regexp.MustCompile(`(\d\.\d\d×) the ([A-Za-z]+ ?(?:heap)?)`).FindAllStringSubmatch(said, -1)
	require.Len(t, claimed, 3)
	for _, claim := range claimed {
		row := regexp.MustCompile(`\| ` + strings.TrimSpace(claim[2]) + ` of kube-controller-manager on glasswatch at most [^|]*\| 400 × 50 \| ` + claim[1])
		require.Regexp(t, row, string(page), claim[0])
	}
}
