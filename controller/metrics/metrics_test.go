package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/controller"
	"glasswatch/controller/metrics"
)

// run runs a controller with metrics and two workers, in virtual time, while f is at work.
func run(t *testing.T, reconcile controller.Func[string], f func(c *controller.Controller[string], reg *prometheus.Registry)) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		c := controller.New[string](reconcile, controller.Options[string]{
			Name: "test", BaseDelay: time.Minute, Workers: 2, Metrics: metrics.New(reg, "test"),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		f(c, reg)
		stop()
		require.NoError(t, <-ended)
	})
}

// after lets d pass, and then everything that is due happen.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

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

func TestMetrics_HaveTheNamesOfTheFieldAndTheNumbersOfTheStory(t *testing.T) {
	reconcile := func(_ context.Context, key string) (controller.Result, error) {
		<-time.After(2 * time.Second)
		switch key {
		case "bad":
			return controller.Result{}, errors.New("broken")
		case "panic":
			panic("oops")
		}
		return controller.Result{}, nil
	}
	run(t, reconcile, func(c *controller.Controller[string], reg *prometheus.Registry) {
		for _, key := range []string{"bad", "b", "c"} {
			c.Enqueue(key)
		}
		after(time.Second)
		assert.Subset(t, samples(t, reg), []string{
			`workqueue_depth{name="test"} 1`,
			`workqueue_unfinished_work_seconds{name="test"} 2`,
			`workqueue_longest_running_processor_seconds{name="test"} 1`,
			`controller_active_workers{controller="test"} 2`,
			`controller_max_concurrent_reconciles{controller="test"} 2`,
		})
		after(9 * time.Second)
		assert.Subset(t, samples(t, reg), []string{
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
		})
		c.Enqueue("panic")
		after(2 * time.Second)
		assert.Subset(t, samples(t, reg), []string{
			`controller_reconcile_total{controller="test",result="error"} 2`,
			`controller_reconcile_panics_total{controller="test"} 1`,
		})
	})
}

func TestMetrics_TwoControllersShareARegisterer(t *testing.T) {
	reg := prometheus.NewRegistry()
	a := controller.New[string](nil, controller.Options[string]{Name: "a", Metrics: metrics.New(reg, "a")})
	controller.New[string](nil, controller.Options[string]{Name: "b", Metrics: metrics.New(reg, "b")})
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
	c := controller.New[string](nil, controller.Options[string]{Metrics: metrics.New(reg, "controller")})
	c.Enqueue("x")
	assert.Equal(t, "controller", c.Name())
	assert.Contains(t, samples(t, reg), `controller_active_workers{controller="controller"} 0`)
}
