package main

import (
	"strings"
	"testing"
	"time"
)

// figuresOf makes results of a work with so many seconds of CPU, from round 0 on.
func figuresOf(program, work string, of side, seconds ...int) (results []result) {
	for round, n := range seconds {
		r := result{Program: program, Work: work, Side: of, Round: round, Server: "v7.8.9"}
		r.Look.CPU, r.Look.LastSync = time.Duration(n)*time.Second, time.Second
		r.Look.Versions = map[string]string{"k8s.io/kubernetes": "v1.2.3"}
		results = append(results, r)
	}
	return results
}

func TestLosses_ShowWhatIsAboveInEveryRoundAlsoWhereClientGosIsZero(t *testing.T) {
	const work = "400 × 50"
	for what, of := range map[string]struct {
		base, ours []int
		loss       bool
	}{
		"zero there and more here":             {[]int{0, 0}, []int{1, 1}, true},
		"zero once, and not above then":        {[]int{0, 1}, []int{0, 2}, false},
		"above in all rounds":                  {[]int{10, 20, 30}, []int{11, 22, 33}, true},
		"above in all rounds but one":          {[]int{10, 20, 30}, []int{11, 20, 33}, false},
		"above by less than 2 %":               {[]int{100, 100}, []int{101, 101}, false},
		"above in the rounds that both have":   {[]int{10, 20, 30}, []int{11, 22}, true},
		"not measured here":                    {[]int{10}, nil, false},
		"equal":                                {[]int{10, 0}, []int{10, 0}, false},
		"above where client-go has less of it": {[]int{10}, []int{11, 9}, true},
	} {
		c := &campaign{options: options{load: load{Deployments: 400, Replicas: 50}}}
		c.results = append(figuresOf(manager, work, clientGo, of.base...), figuresOf(manager, work, shared, of.ours...)...)
		var b strings.Builder
		c.losses(&b)
		if got := strings.Contains(b.String(), "CPU"); got != of.loss {
			t.Errorf("%s: a loss: want %v, got %q", what, of.loss, b.String())
		}
	}
}

func TestPage_HasWhatEarlierRunsHaveKept(t *testing.T) {
	c := &campaign{options: options{load: load{Deployments: 400, Replicas: 50, Others: 5000}, works: "few",
		programs: manager, sides: "shared"}}
	if err := c.parse(); err != nil {
		t.Fatal(err)
	}
	c.results = append(figuresOf(manager, "400 × 50", clientGo, 10, 10, 10), append(
		figuresOf(manager, "400 × 50", shared, 5, 5, 6), append(
			figuresOf(manager, "4000 × 5", clientGo, 10, 10),
			figuresOf(manager, "4000 × 5", shared, 7, 8)...)...)...)
	page := c.page()
	for _, want := range []string{
		"kube-scheduler v1.2.3", "kube-apiserver v7.8.9", "400 Deployments with 50 pods each, 5000 ReplicaSets, and 5000",
		"4000 Deployments with 5 pods each, 5000 ReplicaSets, and 5000",
		"| client-go | 3 |", "| client-go | 2 |", "| **glasswatch, ratio** | 3 |", "| **glasswatch, ratio** | 2 |",
		"0.50× (0.50× to 0.60×); at most 0.55×: met by the median only |", "at most 0.65×: **missed**",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	for _, gone := range []string{"A story", "varied", "### kube-scheduler"} {
		if strings.Contains(page, gone) {
			t.Errorf("the page has %q, which nothing was measured of", gone)
		}
	}
}

func TestDifferingFamiliesOfInformers_AreAnError(t *testing.T) {
	const work = "400 × 50"
	c := &campaign{options: options{load: load{Deployments: 400, Replicas: 50}}}
	c.results = append(figuresOf(manager, work, clientGo, 1, 1), figuresOf(manager, work, shared, 1, 1)...)
	for n := range c.results {
		c.results[n].Families = map[string]string{"workqueue_depth": "gauge{name}"}
	}
	c.results[3].Families["node_collector_evictions_total"] = "counter{}" // the program's own
	if err := c.sameFamilies(); err != nil {
		t.Errorf("the same: got %v", err)
	}
	c.results[1].Families["reflector_lists_total"] = "counter{name}"
	if err := c.sameFamilies(); err == nil || !strings.Contains(err.Error(), "reflector_lists_total") {
		t.Errorf("a family is missing: got %v", err)
	}
}
