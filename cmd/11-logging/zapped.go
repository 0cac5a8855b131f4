package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/demo"
)

// What may have a secret in it: open and shut do nothing about that, password and sealed do.
type (
	open     struct{ Value string }
	password struct{ Value string }
	shut     struct{ value string }
	login    struct{ User, Password any }
	sealed   struct{ Value string }
)

func (password) String() string { return "[hidden]" }

// MarshalText is what encoding/json calls at any depth.
func (sealed) MarshalText() ([]byte, error) { return []byte("[hidden]"), nil }

func (sealed) String() string { return "[hidden]" }

func secrets(_ context.Context, d *demo.Demo) {
	d.Step("A secret in a value")
	secret := "hunter2"
	for _, t := range []struct {
		what  string
		value any
	}{
		{"a struct with an exported field", open{secret}},
		{"the same with a String method", password{secret}},
		{"an unexported field, without String", shut{secret}},
		{"the one with String, in another struct", login{"ann", password{secret}}},
		{"one with MarshalText as well, in another struct", login{"ann", sealed{secret}}},
	} {
		d.Did("%s", t.what)
		both(d, 0, func(logger klog.Logger) { logger.Info("Logged in", "as", t.value) })
		d.Saw("Infof with %%+v: %+v", t.value)
	}
	d.Why("a logger calls String on the value itself, and takes JSON of everything else. JSON leaves unexported\n" +
		"fields out: a String beside one hides nothing more, and %%+v shows it. Within a struct String is not called,\n" +
		"and an exported field leaks: add MarshalText")
}

// encoding is how zap writes a line.
type encoding func(zapcore.EncoderConfig) zapcore.Encoder

// zapTo returns a core that writes JSON or, for people, text.
func zapTo(out *bytes.Buffer, encode encoding, least zapcore.Level) zapcore.Core {
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	return zapcore.NewCore(encode(config), zapcore.AddSync(out), least)
}

func zapped(_ context.Context, d *demo.Demo) {
	d.Step("zap behind klog: zapr makes a logr.Logger of it")
	var out bytes.Buffer
	core := zapTo(&out, zapcore.NewJSONEncoder, zapcore.Level(-2)) // V(2) is zap's level -2
	behindKlog(zapr.NewLogger(zap.New(core)), func() {
		klog.InfoS("Synced", "pod", klog.KObj(cart))
		klog.Background().V(2).Info("Compared", "pod", klog.KObj(cart))
		klog.Background().V(3).Info("Too much")
		klog.Warningf("%d left", 3)
	})
	d.Entry("zap", "", strings.TrimSpace(out.String()))
	d.Why("what goes through klog is zap's now. --log-format=json is this, with better names: cmd/internal/logging")
}

func zapLevels(_ context.Context, d *demo.Demo) {
	d.Step("zap's levels from -3 to 5, and which lines of klog's pass each")
	rows := [][]string{{"zap's level", "name", "passes"}}
	for level := zapcore.Level(-3); level <= zapcore.FatalLevel; level++ {
		var out bytes.Buffer
		behindKlog(zapr.NewLogger(zap.New(zapTo(&out, zapcore.NewJSONEncoder, level))), func() {
			for v := 3; v > 0; v-- {
				klog.Background().V(v).Info(fmt.Sprintf("V(%d)", v))
			}
			klog.Info("Info")
			klog.Warning("Warning")
			klog.ErrorS(nil, "Error")
		})
		rows = append(rows, []string{strconv.Itoa(int(level)), level.String(), strings.Join(messages(out.String()), " ")})
	}
	d.Table(rows...)
	d.Why("V(n) is -n. logr knows no warnings: klog's are infos for zap, so its level warn hides them.\n" +
		"From 3 on errors are hidden, too")
}

func messages(lines string) (all []string) {
	for line := range strings.Lines(lines) {
		var entry struct{ Msg string }
		demo.Check(json.Unmarshal([]byte(line), &entry))
		all = append(all, entry.Msg)
	}
	return all
}

func thresholds(_ context.Context, d *demo.Demo) {
	d.Step("Two thresholds: klog's -v and zap's level")
	defer klog.CaptureState().Restore()
	fs := flag.NewFlagSet("thresholds", flag.ContinueOnError)
	klog.InitFlags(fs)
	rows := [][]string{{"-v", "zap's level", "klog.V(3).InfoS", "logger.V(3).Info"}}
	for _, t := range []struct{ v, level int }{{0, 0}, {5, 0}, {0, -5}, {5, -5}} {
		demo.Check(fs.Set("v", strconv.Itoa(t.v)))
		row := []string{strconv.Itoa(t.v), strconv.Itoa(t.level)}
		for _, log := range []func(){func() { klog.V(3).InfoS("Here") }, func() { klog.Background().V(3).Info("Here") }} {
			var out bytes.Buffer
			behindKlog(zapr.NewLogger(zap.New(zapTo(&out, zapcore.NewJSONEncoder, zapcore.Level(t.level)))), log)
			row = append(row, map[bool]string{true: "hidden", false: "logged"}[out.Len() == 0])
		}
		rows = append(rows, row)
	}
	d.Table(rows...)
	d.Why("klog.V asks -v, and what passes asks zap again: a line must pass both. logger.V asks zap alone.\n" +
		"Set both to the same, as cmd/internal/logging does")
}

// stack is a stack that begins in this file.
var stack = regexp.MustCompile(`(?s)[\w/.-]*\.tee[\\nt\s]+\S*?/(zapped\.go:\d+).*?("}|$)`)

func tee(_ context.Context, d *demo.Demo) {
	d.Step("zap's console format on standard error, and JSON in a file with more in it; errors with their stack")
	var stderr, file bytes.Buffer
	both := zapcore.NewTee(zapTo(&stderr, zapcore.NewConsoleEncoder, zapcore.InfoLevel),
		zapTo(&file, zapcore.NewJSONEncoder, zapcore.Level(-4)))
	logger := zapr.NewLogger(zap.New(both, zap.AddStacktrace(zapcore.ErrorLevel)))
	logger.Info("Synced", "pods", 3)
	logger.V(4).Info("Compared", "pod", klog.KObj(cart))
	logger.Error(errors.New("no route to host"), "Failed")
	d.Entry("err", "", stack.ReplaceAllString(strings.TrimSpace(stderr.String()), "$1, and so on$2"))
	d.Entry("file", "", stack.ReplaceAllString(strings.TrimSpace(file.String()), "$1, and so on$2"))
	d.Why("each core has its level and its format. AddStacktrace is for errors: a stack at each line is dear")
}
