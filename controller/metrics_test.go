package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples returns what /metrics would show, a line a sample; of histograms the sum and the count.
func samples(t *testing.T, reg prometheus.Gatherer) []string {
	families, err := reg.Gather()
	require.NoError(t, err)
	var lines []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += fmt.Sprintf(",%s=%q", l.GetName(), l.GetValue())
			}
			labels = "{" + strings.TrimPrefix(labels, ",") + "}"
			switch f.GetType().String() {
			case "HISTOGRAM":
				h := m.GetHistogram()
				lines = append(lines, fmt.Sprintf("%s%s %g/%d", f.GetName(), labels, h.GetSampleSum(), h.GetSampleCount()))
			default:
				lines = append(lines, fmt.Sprintf("%s%s %g", f.GetName(), labels, m.GetCounter().GetValue()+m.GetGauge().GetValue()))
			}
		}
	}
	return lines
}

func (s *story) ExpectMetric(lines ...string) {
	s.Helper()
	assert.Subset(s.T, samples(s.T, s.reg), lines)
}

func TestMetrics_HaveTheNamesOfTheFieldAndTheNumbersOfTheStory(t *testing.T) {
	tell(t, Options[string]{BaseDelay: time.Minute, Workers: 2}, func(s *story) {
		s.Play(func(_ context.Context, key string) (Result, error) {
			<-time.After(2 * time.Second)
			if key == "bad" {
				return Result{}, errBroken
			}
			return Result{}, nil
		})
		s.Start()
		for _, key := range []string{"bad", "b", "c"} {
			s.Enqueue(key)
		}
		s.At(time.Second)
		s.ExpectMetric(
			`workqueue_depth{name="test"} 1`,
			`workqueue_unfinished_work_seconds{name="test"} 2`,
			`workqueue_longest_running_processor_seconds{name="test"} 1`,
			`controller_active_workers{controller="test"} 2`,
			`controller_max_concurrent_reconciles{controller="test"} 2`,
		)
		s.At(10 * time.Second)
		s.ExpectMetric(
			`workqueue_depth{name="test"} 0`,
			`workqueue_adds_total{name="test"} 3`,
			`workqueue_retries_total{name="test"} 1`,
			`workqueue_queue_duration_seconds{name="test"} 2/3`,
			`workqueue_work_duration_seconds{name="test"} 6/3`,
			`workqueue_unfinished_work_seconds{name="test"} 0`,
			`workqueue_tracked_retries{name="test"} 1`,
			`controller_reconcile_total{controller="test",result="success"} 2`,
			`controller_reconcile_total{controller="test",result="error"} 1`,
			`controller_reconcile_time_seconds{controller="test"} 6/3`,
			`controller_reconcile_panics_total{controller="test"} 0`,
			`controller_active_workers{controller="test"} 0`,
		)
	})
}

func TestMetrics_TwoControllersShareARegisterer(t *testing.T) {
	reg := prometheus.NewRegistry()
	a := New[string](Func[string](nil), Options[string]{Name: "a", Registerer: reg})
	New[string](Func[string](nil), Options[string]{Name: "b", Registerer: reg})
	a.Enqueue("x")
	lines := samples(t, reg)
	assert.Contains(t, lines, `workqueue_depth{name="a"} 1`)
	assert.Contains(t, lines, `workqueue_depth{name="b"} 0`)
	assert.Contains(t, lines, `workqueue_tracked_retries{name="a"} 0`)
	assert.Contains(t, lines, `workqueue_tracked_retries{name="b"} 0`)
}

func TestMetrics_ANameThatIsTakenCostsTheMetricOnly(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "workqueue_depth", Help: "something else"}))
	c := New[string](Func[string](nil), Options[string]{Registerer: reg})
	c.Enqueue("x")
	assert.Equal(t, "controller", c.Name())
	assert.Contains(t, samples(t, reg), `controller_active_workers{controller="controller"} 0`)
}
