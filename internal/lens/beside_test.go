package lens

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
)

// pair is a world in which client-go's informers run beside ours, in virtual time.
type pair struct {
	t *testing.T
	*World
}

// inPairs plays a story with each queue and each way to list.
func inPairs(t *testing.T, story func(p *pair)) {
	for _, o := range []Options{{Queue: "inorder"}, {Queue: "perkey"}, {Queue: "inorder", Paged: true}, {Resync: 500}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			o.Beside = true
			inPair(t, o, story)
		})
	}
}

func inPair(t *testing.T, o Options, story func(p *pair)) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWorld(look.NewHub(), o, true)
		require.NoError(t, err)
		w.Start(Session{})
		defer w.Close()
		synctest.Wait()
		story(&pair{t, w})
	})
}

func (p *pair) act(name, body string) {
	p.t.Helper()
	_, err := p.Do(context.Background(), name, []byte(body))
	require.NoError(p.t, err, "%s %s", name, body)
}

func (p *pair) fault(name string) { p.act("fault", fmt.Sprintf(`{"name": %q, "on": true}`, name)) }
func (p *pair) mend(name string)  { p.act("fault", fmt.Sprintf(`{"name": %q}`, name)) }

func (p *pair) apply(name string, port int) {
	p.t.Helper()
	const service = `{apiVersion: v1, kind: Service, 
 metadata: {name: %s, annotations: {ingress/http: "true"}}, spec: {ports: [{port: %d}]}}`
	body, err := json.Marshal(map[string]string{"yaml": fmt.Sprintf(service, name, port)})
	require.NoError(p.t, err)
	p.act("apply", string(body))
}

func (p *pair) remove(name string) {
	p.act("delete", fmt.Sprintf(`{"kind": "Service", "key": "default/%s"}`, name))
}

// settles waits for quiet, and returns what is then seen.
func (p *pair) settles(key string) beside.Report {
	p.t.Helper()
	time.Sleep(5 * time.Second) // what was said before is not about what was done since
	for range 1000 {
		if r := p.beside.Report(key); r.Quiet {
			return r
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Fail(p.t, "never quiet", "%+v, %+v", p.beside.Report(key), p.hub.Snapshot().State)
	return beside.Report{}
}

// agrees waits for quiet, and wants no difference and at least so many calls.
func (p *pair) agrees(calls uint64) {
	p.t.Helper()
	r := p.settles("default/web")
	assert.Nil(p.t, r.First, "%+v", r.First)
	assert.Zero(p.t, r.Differences, "%+v", r.Rows)
	assert.GreaterOrEqual(p.t, min(r.Calls[0], r.Calls[1]), calls, "%+v", r.Rows)
	for _, s := range r.Store {
		assert.Equal(p.t, s.RV[0], s.RV[1], "%+v", s)
	}
}

var sameStories = map[string]struct {
	calls uint64
	tell  func(p *pair)
}{
	"create, change, delete": {8, func(p *pair) {
		p.apply("web", 80)
		p.apply("web", 81)
		p.apply("other", 82)
		p.settles("")
		p.remove("web")
		p.apply("web", 83)
	}},
	"storm": {300, func(p *pair) {
		p.act("storm", `{"objects": 50, "changes": 250, "per_second": 0}`)
	}},
	"cut": {40, func(p *pair) {
		p.act("storm", `{"objects": 20, "changes": 100, "per_second": 20}`)
		p.apply("web", 80)
		p.fault("cut")
		p.remove("web")
		p.apply("web", 81)
		p.apply("shortly", 80)
		p.remove("shortly")
		time.Sleep(3 * time.Second)
		p.mend("cut")
	}},
	"410": {3, func(p *pair) {
		p.apply("web", 80)
		p.apply("other", 80)
		p.settles("")
		p.fault("cut")
		p.remove("web")
		p.apply("other", 81)
		p.fault("compact")
		p.mend("cut")
	}},
	"expire": {3, func(p *pair) {
		p.apply("web", 80)
		p.fault("expire")
		p.apply("web", 81)
	}},
	"stopped": {3, func(p *pair) {
		p.apply("web", 80)
		p.fault("stop")
		time.Sleep(5 * time.Second)
		p.mend("stop")
		p.apply("web", 81)
	}},
	"token": {3, func(p *pair) {
		p.apply("web", 80)
		p.fault("token")
		p.apply("web", 81)
		time.Sleep(time.Second)
		p.mend("token")
	}},
	"drop": {3, func(p *pair) {
		p.apply("web", 80)
		p.settles("")
		p.fault("drop")
		p.apply("web", 81)
		synctest.Wait()
		p.mend("drop")
		p.settles("")
		p.fault("expire")
	}},
	"slow": {20, func(p *pair) {
		p.act("fault", `{"name": "slow", "on": true, "ms": 3000, "handler": "audit"}`)
		p.act("storm", `{"objects": 5, "changes": 20, "per_second": 0}`)
		time.Sleep(10 * time.Second)
		p.mend("slow")
	}},
	"panic": {3, func(p *pair) {
		p.fault("panic")
		for i := range 3 {
			p.apply("web", 80+i)
		}
		time.Sleep(10 * time.Second)
		p.mend("panic")
		p.remove("web")
	}},
	"delay": {3, func(p *pair) {
		p.act("fault", `{"name": "delay", "on": true, "ms": 700}`)
		p.apply("web", 80)
		p.apply("web", 81)
		time.Sleep(10 * time.Second)
		p.mend("delay")
	}},
}

func TestBeside_SameActsHaveNoDifference(t *testing.T) {
	t.Parallel()
	for name, s := range sameStories {
		t.Run(name, func(t *testing.T) {
			inPairs(t, func(p *pair) {
				s.tell(p)
				p.agrees(s.calls)
			})
		})
	}
}

func TestBeside_StepsAreNoDifference(t *testing.T) {
	inPair(t, Options{Beside: true}, func(p *pair) {
		p.apply("web", 80)
		p.settles("")
		_, err := p.hub.Do("pause", nil)
		require.NoError(t, err)
		p.apply("web", 81)
		assert.Zero(t, p.beside.Counts().Differences)
		_, err = p.hub.Do("run", nil)
		require.NoError(t, err)
		p.agrees(3)
	})
}

func TestBeside_FindsTheFirstDifference(t *testing.T) {
	inPairs(t, func(p *pair) {
		p.apply("web", 80)
		p.agrees(2)
		web := p.services.Refs()[slices.IndexFunc(p.services.Refs(), func(r look.Ref) bool { return r.Key == "default/web" })]
		p.beside.Record(beside.Ours, look.Event{ // a call that client-go's handler does not get
			At: look.Called, Kind: web.Kind, Key: web.Key, RV: web.RV, Action: "OnDelete",
		})
		r := p.settles("default/web")
		require.NotNil(p.t, r.First)
		assert.Equal(p.t, "state", r.First.Differs)
		assert.Equal(p.t, beside.Object{Kind: "Service", Key: "default/web"}, r.First.Object)
		rows := r.Rows["Service"]
		last := rows[len(rows)-1]
		assert.Equal(p.t, "state", last.Differs)
		assert.Equal(p.t, "OnDelete", last.Calls[beside.Ours].Name)
		assert.Equal(p.t, beside.Call{}, last.Calls[beside.ClientGo])
		p.apply("web", 81)
		again := p.settles("default/web")
		sent := again.Rows["Service"]
		assert.Equal(p.t, [2]string{"MODIFIED", "MODIFIED"}, sent[len(sent)-1].Sent)
		assert.Equal(p.t, r.First, again.First)
		assert.Greater(p.t, again.Differences, r.Differences)
	})
}

func TestBeside_IsSwitchedOnAndAskedOverHTTP(t *testing.T) {
	t.Parallel()
	v := visit(t, Options{Workers: 2})
	f := v.follow("")
	assert.Nil(t, f.now.Beside)
	assert.Equal(t, 409, v.ask("GET", "/api/beside", "", nil))
	v.act("beside", `{"on": true}`)
	f.until(func() bool { return f.now.Beside != nil })
	assert.Equal(t, Options{Queue: "inorder", Workers: 2, Beside: true}, v.lens.Session().Options)
	rv := v.apply("web", 80)
	var r beside.Report
	for told := (beside.Call{Name: "OnAdd"}); ; {
		require.Equal(t, 200, v.ask("GET", "/api/beside?key=default/web", "", &r))
		if rows := r.Rows["Service"]; len(rows) > 0 && rows[0].Calls == [2]beside.Call{told, told} {
			assert.Equal(t, rv, rows[0].RV)
			break
		}
		require.NoError(t, v.ctx.Err())
	}
	f.until(func() bool { return f.now.Beside != nil && f.now.Beside.Quiet })
	assert.Zero(t, f.now.Beside.Differences)
	assert.GreaterOrEqual(t, f.now.Beside.Calls[beside.ClientGo], uint64(3))
	v.act("beside", `{"on": false}`)
	f.until(func() bool { return f.now.Beside == nil })
}
