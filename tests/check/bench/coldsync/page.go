package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"glasswatch/tests/check/bench/internal/usage"
	"glasswatch/tests/check/bench/internal/versus"
)

// report lays the results out.
type report struct {
	options
	machine  usage.Machine
	results  map[string][]result
	podBytes int
}

// publish prints the page, and writes page and raw figures if it is asked to.
func (r *report) publish(out io.Writer) error {
	page := r.page()
	if _, err := io.WriteString(out, page); err != nil || !r.write {
		return err
	}
	return errors.Join(
		os.MkdirAll(r.out, 0o755),
		os.WriteFile(filepath.Join(r.out, "coldsync.md"), []byte(page), 0o644),
		os.MkdirAll(r.rawOut, 0o755),
		os.WriteFile(filepath.Join(r.rawOut, "coldsync.txt"), []byte(r.raw()), 0o644))
}

func (r *report) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Cold sync: %d pods, glasswatch beside client-go v0.37.2

Made by `+"`make coldsync`"+`; do not edit. With -write the raw figures are in `+"`bench.out`, for `benchstat -col /impl`"+`.
Server: %s. Machine: %s, %d cores; load average before the run %s. Rounds: %d, the variants in turn, each in a process of
its own with %d handlers. A pod has about %d bytes. Each figure is the median, with the least and the greatest in brackets.
The rows *beside* say how many times better the first is, with the interval that follows from benchstat's two; "~" says that the rounds do
not tell the two apart (p > 0.05). A goal is met if the lower end of the interval meets it.

`, r.n, r.serverName(), r.machine.CPU, r.machine.Cores, r.machine.Load, r.rounds, handlers, r.podBytes)
	b.WriteString("## Goals\n\nThey are of 20,000 pods: with few, the program itself is most of what is measured.\n\n")
	r.goals(&b)
	b.WriteString("\n## From start to all handlers synced\n\n")
	r.table(&b, ofSync)
	b.WriteString(`
CPU is user and system time of the process. The live heap is what a collection leaves, less what there was before the
start. Peak RSS is the whole process, with about as much program on both sides. ` + "`floor`" + ` reads the bytes of the same streaming
list and throws them away: the server's own time. Server and process share the cores; before each start the server is made to
collect its garbage. ` + "`-stripped`" + ` is without managedFields, ` + "`-unshared`" + ` without sharing equal parts of objects.
`)
	for n, storm := range r.storms {
		fmt.Fprintf(&b, "\n## A storm of updates, %s, for %s\n\n", storm.name(), storm.lasts)
		r.table(&b, ofStorm(n))
	}
	if len(r.storms) > 0 {
		b.WriteString(`
The time runs from before the update is sent to the call of the first handler, on one clock: it includes the request, the
server's write to etcd and its watch cache. ` + "`floor`" + ` stops the clock when the event's bytes are there, so what it shows is what no
informer can save. CPU is that of the informer's process. As many updates as the server takes are as many as the cores have room
for that server, writers and the measured process share: who needs less CPU for an event leaves more of it to them.
Before the storms the server is left alone for ` + r.calm.String() + `, and collects its garbage once more.
`)
	}
	return b.String()
}

func (r *report) serverName() string {
	if r.server == "embedded" || r.server == "controlplane" {
		return map[string]string{"embedded": "the API server in memory", "controlplane": "etcd and kube-apiserver, one process"}[r.server]
	}
	return "a cluster that was there"
}

func (w weather) name() string {
	if w.rate == 0 {
		return "as many as the server takes"
	}
	return fmt.Sprintf("%d/s", w.rate)
}

func (r *report) table(b *strings.Builder, figures []figure) {
	b.WriteString("| variant |")
	for _, f := range figures {
		fmt.Fprintf(b, " %s |", f.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(figures)) + "\n")
	for _, name := range r.variants {
		fmt.Fprintf(b, "| %s |", name)
		for _, f := range figures {
			s := spreadOf(r.results[name], f.of)
			if math.IsNaN(s.median) {
				b.WriteString(" – |")
				continue
			}
			fmt.Fprintf(b, " %s (%s–%s) |", f.show(s.median), f.show(s.least), f.show(s.most))
		}
		b.WriteString("\n")
	}
	for _, name := range r.variants {
		other, ok := counterpart[name]
		if !ok {
			continue
		}
		fmt.Fprintf(b, "| %s beside %s |", name, other)
		for _, f := range figures {
			fmt.Fprintf(b, " %s |", compare(r.results, f, name, other).Bold())
		}
		b.WriteString("\n")
	}
}

// counterpart is what a variant of ours is compared with: like with like.
var counterpart = map[string]string{
	glasswatch: clientGo, glasswatchUnshared: clientGo, glasswatchStripped: clientGoStripped,
}

func (r *report) goals(b *strings.Builder) {
	b.WriteString("| goal | of | reached | |\n|---|---|---|---|\n")
	for _, g := range goals {
		got := g.reached(r.results)
		verdict := "**missed**"
		switch {
		case !got.Measured():
			verdict = "not measured"
		case got.N < versus.Enough:
			verdict = "too few rounds"
		case got.Low >= g.least:
			verdict = "met"
		}
		fmt.Fprintf(b, "| %s at least %s | %s beside %s | %s | %s |\n", g.figure, versus.Times(g.least), g.ours, g.other, got, verdict)
	}
}

// raw is in the form of Go's benchmark results: a line for each process, and one for each storm on it.
func (r *report) raw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\nload: %s\nserver: %s\n", runtime.GOOS, runtime.GOARCH, r.machine.CPU, r.machine.Load, r.serverName())
	line := func(benchmark string, variant string, of result, figures []figure) {
		fmt.Fprintf(&b, "Benchmark%s/impl=%s-%d\t1", benchmark, variant, r.machine.Cores)
		for _, f := range figures {
			if v := f.of(of); !math.IsNaN(v) {
				fmt.Fprintf(&b, "\t%.6g %s", v, f.unit)
			}
		}
		b.WriteString("\n")
	}
	for _, name := range r.variants {
		for _, result := range r.results[name] {
			line(fmt.Sprintf("ColdSync/pods=%d", r.n), name, result, ofSync)
			for n := range result.storms {
				line(fmt.Sprintf("Storm/pods=%d/rate=%d", r.n, r.storms[n].rate), name, result, ofStorm(n))
			}
		}
	}
	return b.String()
}
