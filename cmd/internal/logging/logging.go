package logging

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// The formats of a log.
const (
	Text = "text"
	JSON = "json"
)

// Flags are the command line's flags about the log. The zero value needs AddTo.
type Flags struct {
	Format string
	File   string // empty: standard error

	verbosity *pflag.Flag // klog's own, so that klog.V agrees with it
	all       *pflag.FlagSet
}

// AddTo adds -v, --log-format and --log-file.
func (f *Flags) AddTo(fs *pflag.FlagSet) {
	klogFlags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(klogFlags)
	f.verbosity = pflag.PFlagFromGoFlag(klogFlags.Lookup("v"))
	f.verbosity.Usage = "verbosity of the log"
	f.all = fs
	fs.AddFlag(f.verbosity)
	fs.StringVar(&f.Format, "log-format", Text, "format of the log: text or json")
	fs.StringVar(&f.File, "log-file", "", "file to append the log to; without it standard error")
}

// Asked tells whether a flag about the log was given.
func (f *Flags) Asked() bool {
	return f.verbosity.Changed || f.all.Changed("log-format") || f.all.Changed("log-file")
}

// Verbosity is that of -v.
func (f *Flags) Verbosity() int {
	v, err := strconv.Atoi(f.verbosity.Value.String())
	if err != nil {
		return 0
	}
	return v
}

// Validate says what is wrong with the flags.
func (f *Flags) Validate() error {
	if f.Format != Text && f.Format != JSON {
		return fmt.Errorf("--log-format: want %s or %s, got %q", Text, JSON, f.Format)
	}
	return nil
}

// Start sends all that goes through klog to the file, or to stderr if there is none. Call stop at the end: it flushes,
// closes the file and gives klog back its defaults.
func (f *Flags) Start(stderr io.Writer) (stop func() error, err error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	out := stderr
	closing := func() error { return nil }
	if f.File != "" {
		file, err := os.OpenFile(f.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("--log-file: %w", err)
		}
		out, closing = file, file.Close
	}
	klog.SetLoggerWithOptions(New(out, f.Format, f.Verbosity()), klog.ContextualLogger(true))
	return func() error {
		klog.Flush()
		klog.ClearLogger()
		return errors.Join(f.verbosity.Value.Set(f.verbosity.DefValue), closing())
	}, nil
}

// New returns a logger of its own, which klog knows nothing of. Each line is one Write to out, one at a time. A format
// other than JSON is text.
func New(out io.Writer, format string, verbosity int) logr.Logger {
	if format == JSON {
		return newJSON(out, verbosity)
	}
	config := textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(verbosity))
	return textlogger.NewLogger(config)
}

func newJSON(out io.Writer, verbosity int) logr.Logger {
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		TimeKey: "ts", LevelKey: "level", NameKey: "logger", CallerKey: "caller", MessageKey: "msg",
		EncodeTime:     zapcore.RFC3339NanoTimeEncoder,
		EncodeLevel:    levelName,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeCaller:   zapcore.ShortCallerEncoder,
	})
	// zapr turns V(n) into zap's level -n; zap's go down to -128.
	least := zapcore.Level(-min(max(verbosity, 0), 127))
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), least)
	return zapr.NewLoggerWithOptions(zap.New(core, zap.AddCaller()), zapr.LogInfoLevel("v"), zapr.ErrorKey("err"))
}

// levelName: zap would write "Level(-4)" for a V level; the number is under v.
func levelName(level zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
	out.AppendString(max(level, zapcore.InfoLevel).String())
}
