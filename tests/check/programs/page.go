package main

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
)

func (c *campaign) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Whole programs of upstream on glasswatch's informers, beside client-go's

Made by `+"`make programs`"+`; do not edit. With -write the raw figures are in `+"`bench.out`, for `benchstat -col /impl`"+`.
Machine: %s, %d cores, %s; load average before the run %s.

The programs are kube-controller-manager and kube-scheduler %s, and descheduler %s. Their source is unchanged. They are
one binary, the same for all sides, compiled against a copy of client-go %s whose informers ask a hook first. The
variable GLASSWATCH_INFORMERS chooses the hook's answer. *client-go* has client-go's informers, *glasswatch* ours with
sharing, and *glasswatch, unshared* ours on objects that client-go has decoded. The run fails if an informer is made in
another way or does not sync, and if the metrics of informers, queues and clients differ in family or label.

The copy of client-go also hands our informers the metrics provider that component-base gives to client-go alone. A
program outside cannot do so, as that provider is not exported: there our informers need a provider of the program's own.

Server: etcd and kube-apiserver %s in one process, without controllers of its own. No kubelet runs, real or hollow. An
actor in the measuring program plays %d nodes: it renews their Leases and, in the story, starts and ends pods. The
server's admission of ServiceAccounts is off. The standing pods have the volume and the mounts that it would add, each
under a name of its own; the pods of the story do not. Server, nodes and programs share the cores.

A pod has two containers with probes, resources, eight and three environment variables, two ports and three mounts,
three volumes, an anti-affinity, and managed fields of two writers. The pods of one Deployment are alike but for name,
UID, node, addresses, times, container IDs and the token's volume. How much is alike decides what sharing saves. So the
ratios depend on the load, and a cluster of yours has others.

Each figure is the median of the rounds, with the least and the greatest in brackets. A ratio divides a side's figure by
client-go's of the same round; it too is a median with the least and the greatest. Less is better everywhere. Where
there is a goal, it stands behind the ratio: *met* if no round is above it, *met by the median only* if the median
alone is not, and else *missed*.

With the flag -profiles, go tool pprof -top shows what a program holds at the end.

`, c.machine.cpu, c.machine.cores, c.machine.version, c.machine.load,
		c.version("k8s.io/kubernetes"), c.version("sigs.k8s.io/descheduler"), c.version("k8s.io/client-go"),
		c.version(""), nodes)
	c.goals(&b)
	for _, w := range c.shown() {
		if w.name == storyOf {
			c.story(&b, w)
		} else {
			c.standing(&b, w)
		}
	}
	c.losses(&b)
	c.ways(&b)
	c.metrics(&b)
	return b.String()
}

// version is that of a module in the programs, or of the server if module is "", or of several if they have changed.
func (c *campaign) version(module string) string {
	some := map[string]bool{}
	for _, r := range c.results {
		if v := r.Look.Versions[module]; v != "" {
			some[v] = true
		}
		if module == "" && r.Server != "" {
			some[r.Server] = true
		}
	}
	if len(some) == 0 {
		return "(unknown)"
	}
	return strings.Join(slices.Sorted(maps.Keys(some)), ", ")
}

func (c *campaign) goals(b *strings.Builder) {
	b.WriteString("## Goals\n\n| goal | work | ratio to client-go | |\n|---|---|---|---|\n")
	for _, g := range goals {
		work := c.nameOf(g.work)
		if work == "" {
			continue
		}
		got := c.ratio(g.program, work, g.of, g.figure)
		fmt.Fprintf(b, "| %s of %s on %s at most %s | %s | %s | %s |\n",
			g.figure.name, g.program, g.of, times(g.most), work, got.show(times), verdict(got, g.most))
	}
}

// nameOf returns how results name a work of the flag, or "" if it has none.
func (c *campaign) nameOf(flag string) string {
	for _, w := range c.shown() {
		if w.name == flag {
			return w.String()
		}
	}
	return ""
}

func (c *campaign) standing(b *strings.Builder, w work) {
	fmt.Fprintf(b, "\n## A standing load: %d pods of %s\n\n", w.load.pods(), w)
	fmt.Fprintf(b, `%d Deployments with %d pods each, %d ReplicaSets, and %d each of EndpointSlices, ConfigMaps and
Secrets were on the server before the program started. An earlier run of the manager had left it nothing to do. `,
		w.load.Deployments, w.load.Replicas, max(w.load.Others, w.load.Deployments), w.load.Others)
	if w.load.Varied {
		b.WriteString("Each container of each pod\nhas twelve environment variables of its own, " +
			"and each pod four annotations: sharing helps least here. ")
	}
	fmt.Fprintf(b, `*Ready* is the
time from the process's start until its last informer had synced. CPU, RSS and requests are those of the first %.0f s.
Then the heap is collected, and what is left is *live*. Bytes are those on the wire from the server. A pod has about
%s bytes of JSON.
`, c.lasts.Seconds(), c.podBytes(w))
	for _, program := range c.shownPrograms(w) {
		fmt.Fprintf(b, "\n### %s\n\n", program)
		c.table(b, program, w, ofStanding)
	}
}

func (c *campaign) podBytes(w work) string {
	for _, r := range c.results {
		if r.Work == w.String() && r.PodBytes > 0 {
			return fmt.Sprintf("%d00", (r.PodBytes+50)/100)
		}
	}
	return "?"
}

func (c *campaign) story(b *strings.Builder, w work) {
	fmt.Fprintf(b, `
## A story: %d Deployments of %d replicas

An empty cluster of %d nodes, with the manager and the scheduler of one side. The Deployments are created and scaled up
by a fifth, get another template, lose a node to a drain, and go with their namespace. Each time runs until all
Deployments are complete again, or the namespace is gone, seen by a poll each 50 ms. Pods run as soon as they are bound.

`, w.load.Deployments, w.load.Replicas, nodes)
	c.table(b, manager, w, ofSteps())
	for _, program := range []string{manager, scheduler} {
		fmt.Fprintf(b, "\n%s, from its start to the story's end:\n\n", program)
		c.table(b, program, w, ofStory)
	}
}

func (c *campaign) table(b *strings.Builder, program string, w work, figures []figure) {
	b.WriteString("| informers | n |")
	for _, f := range figures {
		fmt.Fprintf(b, " %s |", f.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(figures)) + "\n")
	for _, of := range c.shownSides(w) {
		fmt.Fprintf(b, "| %s | %d |", of, len(c.values(program, w.String(), of, figures[0])))
		for _, f := range figures {
			fmt.Fprintf(b, " %s |", c.spread(program, w.String(), of, f).show(f.show))
		}
		b.WriteString("\n")
	}
	for _, of := range c.shownSides(w) {
		if of == clientGo {
			continue
		}
		fmt.Fprintf(b, "| **%s, ratio** | %d |", of, c.inCommon(program, w.String(), of))
		for _, f := range figures {
			ratio := c.ratio(program, w.String(), of, f)
			fmt.Fprintf(b, " %s%s |", ratio.show(times), verdictOn(ratio, program, w, of, f))
		}
		b.WriteString("\n")
	}
}

// losses lists each figure that is above client-go's in every round.
func (c *campaign) losses(b *strings.Builder) {
	b.WriteString("\n## Losses\n\nWhat is above client-go's in every round, by 2 % or more in the median:\n\n")
	found := false
	for _, w := range c.shown() {
		figures := ofStanding
		if w.name == storyOf {
			figures = slices.Concat(ofSteps(), ofStory)
		}
		for _, program := range c.shownPrograms(w) {
			for _, of := range c.shownSides(w) {
				for _, f := range figures {
					base, ours, always := c.above(program, w.String(), of, f)
					if always && ours.median >= 1.02*base.median {
						fmt.Fprintf(b, "- %s, %s on %s: %s %s, client-go %s, %d rounds\n", w, program, of, f.name,
							ours.show(f.show), base.show(f.show), ours.n)
						found = true
					}
				}
			}
		}
	}
	if !found {
		b.WriteString("- nothing\n")
	}
}

// ways says how the informers were made.
func (c *campaign) ways(b *strings.Builder) {
	b.WriteString(`
## Informers

*install* are those of ` + "`compat/cache/install`" + ` on a clientset; *closures* run on their maker's ListerWatcher
(metadata, dynamic and undescribed informers). Reflectors are client-go's.

| program | informers | made | synced | reflectors |
|---|---|---|---|---|
`)
	for _, program := range programs {
		for _, of := range []side{clientGo, unshared, shared} {
			rows := map[string]bool{}
			for _, r := range c.results {
				if r.Program != program || r.Side != of {
					continue
				}
				var made []string
				for _, way := range slices.Sorted(maps.Keys(r.Look.Ways)) {
					made = append(made, fmt.Sprintf("%d %s", r.Look.Ways[way], way))
				}
				rows[fmt.Sprintf("| %s | %s | %s | %d | %d |\n", program, of, strings.Join(made, ", "), r.Look.Synced,
					r.Look.ClientGoReflectors)] = true
			}
			b.WriteString(strings.Join(slices.Sorted(maps.Keys(rows)), ""))
		}
	}
}

// metrics compares the families of /metrics that a side had in some round.
func (c *campaign) metrics(b *strings.Builder) {
	b.WriteString("\n## /metrics\n\n" +
		"Families, types and names of labels, of all rounds together, beside client-go's:\n\n")
	for _, w := range c.shown() {
		for _, program := range c.shownPrograms(w) {
			base := c.families(program, w.String(), clientGo)
			for _, of := range c.shownSides(w) {
				got := c.families(program, w.String(), of)
				if of == clientGo || len(got) == 0 || len(base) == 0 {
					continue
				}
				lines := differences(base, got)
				if len(lines) == 0 {
					lines = []string{fmt.Sprintf("the same %d", len(base))}
				}
				fmt.Fprintf(b, "- %s, %s on %s: %s\n", w, program, of, strings.Join(lines, "; "))
			}
		}
	}
}

// raw is in the form of Go's benchmark results, a line for each measurement.
func (c *campaign) raw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\nload: %s\n", runtime.GOOS, runtime.GOARCH, c.machine.cpu,
		c.machine.load)
	dense := strings.NewReplacer(" × ", "x", ", ", "-", " ", "-")
	for _, r := range c.results {
		fmt.Fprintf(&b, "BenchmarkPrograms/program=%s/work=%s/impl=%s-%d\t1", r.Program, dense.Replace(r.Work),
			dense.Replace(string(r.Side)), c.machine.cores)
		for _, f := range slices.Concat(ofStanding, ofSteps()) {
			v := f.of(r)
			if strings.HasSuffix(f.unit, "-B") {
				v *= mib
			}
			if !math.IsNaN(v) {
				fmt.Fprintf(&b, "\t%.6g %s", v, dense.Replace(f.unit))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
