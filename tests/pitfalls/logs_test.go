package pitfalls

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// stringer and marshaler are tokens that must not be logged.
type (
	stringer  string
	marshaler string
)

func (stringer) String() string { return "[hidden]" }

func (marshaler) String() string { return "[hidden]" }

func (marshaler) MarshalText() ([]byte, error) { return []byte("[hidden]"), nil }

// zapTo is a logger on zap that writes JSON from a level on.
func zapTo(out *bytes.Buffer, level zapcore.Level) logr.Logger {
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
	return zapr.NewLogger(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(out), level)))
}

// behindKlog puts a logger behind klog until the test ends.
func behindKlog(t *testing.T, logger logr.Logger) {
	t.Cleanup(klog.CaptureState().Restore)
	klog.SetLogger(logger)
}

// A secret has a String method that hides it, and is logged within another struct.
//
// Why: a logger calls String on the value that it is given. Of a struct it takes JSON, and JSON does not know String: it
// writes each exported field as it is. An unexported field does not show there, but %+v prints it.
//
// You see: in the log: as={"Token":"hunter2"}
//
// Instead: give the secret MarshalText as well: JSON asks it at any depth. Or log single values and not structs.
func TestPitfall_HidingASecretByStringAlone(t *testing.T) {
	naive := func(logger klog.Logger, token string) {
		logger.Info("Logged in", "as", struct{ Token stringer }{stringer(token)})
	}
	right := func(logger klog.Logger, token string) {
		logger.Info("Logged in", "as", struct{ Token marshaler }{marshaler(token)})
	}
	property := func(_ *testing.T, logIn func(klog.Logger, string)) error {
		for _, format := range []func(*bytes.Buffer) logr.Logger{
			func(out *bytes.Buffer) logr.Logger {
				return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out)))
			},
			func(out *bytes.Buffer) logr.Logger { return zapTo(out, zapcore.InfoLevel) },
		} {
			var out bytes.Buffer
			logIn(format(&out), "hunter2")
			if leak := regexp.MustCompile(`\S*hunter2\S*`).FindString(out.String()); leak != "" {
				return fmt.Errorf("in the log: %s", leak)
			}
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A program raises the level of the logger behind klog, and not klog's -v.
//
// Why: klog.V(4) asks klog's own -v first. What passes asks the logger behind klog, which has a level of its own. A line
// must pass both, so with one of them left at 0 nothing of level 4 comes out.
//
// You see: klog.V(4).InfoS: want a line, got none
//
// Instead: set both to the same level, or log with the logger of the context, which asks the logger alone.
func TestPitfall_RaisingOneOfTwoThresholds(t *testing.T) {
	naive := func(t *testing.T, out *bytes.Buffer) {
		behindKlog(t, zapTo(out, -4))
	}
	right := func(t *testing.T, out *bytes.Buffer) {
		behindKlog(t, zapTo(out, -4))
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		klog.InitFlags(flags)
		require.NoError(t, flags.Set("v", "4"))
	}
	property := func(t *testing.T, debug func(*testing.T, *bytes.Buffer)) error {
		var out bytes.Buffer
		debug(t, &out)
		klog.V(4).InfoS("Compared")
		if out.Len() == 0 {
			return errors.New("klog.V(4).InfoS: want a line, got none")
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// zap's level is set to warn, so that only warnings and errors are logged.
//
// Why: klog hands its lines to a logr.Logger, and that has infos and errors only. A warning of klog's is an info for
// zap, and its level hides it.
//
// You see: klog.Warning and klog.Error: want [disk is slow, disk is gone], got [disk is gone]
//
// Instead: leave zap's level at info, and keep infos out by V levels.
func TestPitfall_ZapsLevelWarnHidesWarnings(t *testing.T) {
	naive := func(out *bytes.Buffer) logr.Logger { return zapTo(out, zapcore.WarnLevel) }
	right := func(out *bytes.Buffer) logr.Logger { return zapTo(out, zapcore.InfoLevel) }
	property := func(t *testing.T, make func(*bytes.Buffer) logr.Logger) error {
		var out bytes.Buffer
		behindKlog(t, make(&out))
		klog.V(1).Info("disk was read")
		klog.Warning("disk is slow")
		klog.Error("disk is gone")
		var got []string
		for line := range strings.Lines(out.String()) {
			var msg string
			if _, err := fmt.Sscanf(line, `{"msg":%q`, &msg); err != nil {
				return err
			}
			got = append(got, msg)
		}
		return unlike("klog.Warning and klog.Error", []string{"disk is slow", "disk is gone"}, got)
	}
	contrast(t, property, naive, right)
}

// -stderrthreshold is set to keep infos off standard error, and nothing else.
//
// Why: -logtostderr is true by default, and then every line goes to standard error, whatever the threshold. The threshold
// was made for programs that write files.
//
// You see: on standard error: want [Slow], got [Ready, Slow]
//
// Instead: set -legacy_stderr_threshold_behavior=false as well, or -logtostderr=false with -log_file.
func TestPitfall_StderrThresholdAlone(t *testing.T) {
	naive := func(flags *flag.FlagSet) error {
		return flags.Set("stderrthreshold", "WARNING")
	}
	right := func(flags *flag.FlagSet) error {
		return errors.Join(flags.Set("stderrthreshold", "WARNING"), flags.Set("legacy_stderr_threshold_behavior", "false"))
	}
	property := func(t *testing.T, set func(*flag.FlagSet) error) error {
		t.Cleanup(klog.CaptureState().Restore)
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		klog.InitFlags(flags)
		klog.ClearLogger()
		require.NoError(t, set(flags))
		require.NoError(t, flags.Set("skip_headers", "true"))
		written := stderrOf(t, func() { klog.Info("Ready"); klog.Warning("Slow") })
		return unlike("on standard error", []string{"Slow"}, strings.Fields(written))
	}
	contrast(t, property, naive, right)
}

// stderrOf returns what is written to standard error meanwhile.
func stderrOf(t *testing.T, write func()) string {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = stderr }()
	write()
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(text)
}
