package main

import (
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"
)

// FuzzFlags checks that any words are a valid command line, or an error that names the wrong word.
func FuzzFlags(f *testing.F) {
	for _, line := range []string{"", "--demo", "--embedded", "--demo\n--embedded", "--help", "-h", "-n\nshop", "-nshop", "-n", "--namespace=", "--workers=0", "--workers=08", "--workers\n3",
		"--workers=9223372036854775808", "--resync=-1s", "--resync=1", "--resync=1h1m1ns", "--host=*.example.com", "--host=::1", "--ingress-class=", "--annotation-prefix=\xff",
		"--metrics-addr=", "--metrics-addr=:0", "--health-addr=[::1]:80", "--health-addr=a:b:c", "-v=4", "-v", "-v=-1", "-v=99999999999", "--log-format=json\n--log-file=x", "--log-format=",
		"--", "--\nx", "-", "--=", "--=x", "-=", "---", "--no-such-flag=1", "-xyz", "--demo=maybe", "--demo=false\n--embedded=0", "--demo\n--kubeconfig=", "--kubeconfig\n--demo",
		"--leader-elect\n--leader-elect-lease-duration=4s\n--leader-elect-renew-deadline=2s\n--leader-elect-retry-period=1s", "--leader-elect\n--leader-elect-retry-period=2562047h",
		"--leader-elect\n--leader-elect-lease-duration=2562047h\n--leader-elect-renew-deadline=2562046h", "--version", "--insecure-skip-tls-verify"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\n")
		o, err := parse(args, io.Discard)
		switch {
		case errors.Is(err, pflag.ErrHelp):
			return
		case err != nil:
			requireNamesAWord(t, args, err)
			return
		}
		requireObeyable(t, o)
		if slices.Contains(args, "--") || slices.Contains(args, "") {
			return // what is repeated behind it are no flags
		}
		again, err := parse(append(slices.Clone(args), args...), io.Discard)
		require.NoError(t, err, "saying it twice is no error")
		require.Equal(t, o.Log.Verbosity(), again.Log.Verbosity())
		require.Equal(t, o.Log.Format+o.Log.File, again.Log.Format+again.Log.File)
		again.Log = o.Log
		require.Equal(t, o, again)
	})
}

// named is how pflag names a flag whose value is wrong, however it was spelled: for "-v, --v" flag.
var named = regexp.MustCompile(`for "(-., )?--[a-z-]+" flag`)

// requireNamesAWord wants an error that begins with a flag of ours, or has the unknown word.
func requireNamesAWord(t *testing.T, args []string, err error) {
	text := err.Error()
	if named.MatchString(text) {
		return
	}
	if strings.HasPrefix(text, "--") {
		name, _, found := strings.Cut(text[2:], ": ")
		require.True(t, found && len(name) > 1, text)
		return
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if strings.Contains(text, name) || strings.Contains(text, strconv.Quote(arg)) {
			return
		}
	}
	require.Fail(t, "no word is named", "%q: %v", args, err)
}

// requireObeyable checks the accepted options again, by other code.
func requireObeyable(t *testing.T, o *options) {
	require.Positive(t, o.Workers)
	require.GreaterOrEqual(t, o.resync, time.Duration(0))
	require.False(t, o.demo && o.embedded)
	require.NoError(t, o.config.Validate())
	require.Contains(t, []string{"text", "json"}, o.Log.Format)
	if o.Namespace != "" {
		require.Empty(t, validation.IsDNS1123Label(o.Namespace))
	}
	for _, address := range []string{o.MetricsAddr, o.HealthAddr} {
		if address != "" {
			_, _, err := net.SplitHostPort(address)
			require.NoError(t, err)
		}
	}
	if e := o.Election; e.Enabled {
		require.Greater(t, e.Lease-e.Renew, e.Retry)
		require.Greater(t, float64(e.Renew), leaderelection.JitterFactor*float64(e.Retry))
		require.Positive(t, e.Retry)
	}
}
