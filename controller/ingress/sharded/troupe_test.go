package sharded

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/ingress"
	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch/shard"
)

// A history plays hours of virtual time. Some are enough at each run; make check plays more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "2"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var testConfig = ingress.Config{AnnotationPrefix: "ingress", Class: ingresstest.Class, Host: ingresstest.Host}

// troupe is several replicas with shards, in virtual time.
type troupe struct {
	*ingresstest.World
	t        *testing.T
	cfg      *rest.Config
	by       shard.Field
	byLabel  bool
	shards   int // of replicas that are made from now on
	replicas map[string]*sharded
	noShards bool // the server is asked for all objects, as if it did not know shards
	workers  int
	latency  time.Duration // of writes to Ingresses, each way

	mu      sync.Mutex
	writing map[string]string // guarded by mu: which replica writes to an Ingress at this moment
	twice   []string          // guarded by mu: Ingresses that two wrote to at one time
}

// sharded is a replica that runs.
type sharded struct {
	*Controller
	reg   *prometheus.Registry
	stop  context.CancelFunc
	ended chan error
	mu    sync.Mutex
	cut   bool   // guarded by mu: no request passes
	deaf  string // guarded by mu: no request passes whose URL ends so
	heard []string
	// frozen, if not nil, holds back what the watch of Ingresses brings, until it is closed. Guarded by mu.
	frozen  chan struct{}
	answers map[string]int // to writes of Ingresses, by method and code; guarded by mu
}

// byLabel stands for shard.UID with Sharding.ByLabel.
const byLabel shard.Field = "label"

var divisions = []shard.Field{shard.Namespace, shard.UID, byLabel}

func inTroupe(t *testing.T, by shard.Field, play func(tr *troupe)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := ingresstest.Serve(ctx, t)
		tr := &troupe{World: world, t: t, cfg: cfg, by: by, byLabel: by == byLabel, shards: 16,
			replicas: map[string]*sharded{}, workers: 2, latency: 200 * time.Millisecond, writing: map[string]string{}}
		if tr.byLabel {
			tr.by = shard.UID
		}
		defer func() {
			for name := range tr.replicas {
				tr.leave(name)
			}
			cancel()
			require.NoError(t, <-served)
		}()
		play(tr)
	})
}

func (tr *troupe) join(name string) *sharded { return tr.joinDeaf(name, "") }

// joinDeaf is join, without answers to requests whose URL ends so.
func (tr *troupe) joinDeaf(name, deaf string) *sharded {
	tr.t.Helper()
	r := tr.make(name, deaf)
	tr.run(name, r)
	return r
}

// run runs what make has made.
func (tr *troupe) run(name string, r *sharded) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.ended <- r.Run(ctx) }()
	tr.replicas[name] = r
}

// make makes a replica that does not run yet.
func (tr *troupe) make(name, deaf string) *sharded {
	tr.t.Helper()
	r := &sharded{reg: prometheus.NewRegistry(), ended: make(chan error, 1), deaf: deaf, answers: map[string]int{}}
	cfg := rest.CopyConfig(tr.cfg)
	cfg.ContentType = "application/json" // so that written can read it
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return tr.watched(name, r, next) })
	leases, err := coordinationv1client.NewForConfig(cfg)
	require.NoError(tr.t, err)
	opts := ingress.Options{Config: testConfig, Workers: tr.workers, Registerer: r.reg}
	r.Controller, err = New(cfg, opts, Sharding{
		Leases: leases, By: tr.by, ByLabel: tr.byLabel,
		Member: shards.Options{Namespace: "default", Name: "ingress-controller", Identity: name, Shards: tr.shards,
			LeaseDuration: time.Minute}, // fewer renewals make the test faster
	})
	require.NoError(tr.t, err)
	return r
}

func (tr *troupe) leave(name string) {
	tr.t.Helper()
	r := tr.replicas[name]
	delete(tr.replicas, name)
	r.stop()
	require.NoError(tr.t, <-r.ended)
}

// watched records requests, and finds two replicas that write to one Ingress at a time.
func (tr *troupe) watched(name string, r *sharded, next http.RoundTripper) http.RoundTripper {
	return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		cut := r.cut || r.deaf != "" && strings.HasSuffix(req.URL.Path, r.deaf)
		r.heard = append(r.heard, req.Method+" "+req.URL.String())
		r.mu.Unlock()
		if cut {
			<-time.After(time.Second)
			return nil, errors.New("cut off")
		}
		if tr.noShards {
			req = req.Clone(req.Context())
			query := req.URL.Query()
			query.Del("shardSelector")
			req.URL.RawQuery = query.Encode()
		}
		ingress := tr.written(req)
		if ingress == "" {
			return r.answered(req, next)
		}
		tr.mu.Lock()
		if other := tr.writing[ingress]; other != "" && other != name {
			tr.twice = append(tr.twice, ingress+" by "+name+" and "+other)
		}
		tr.writing[ingress] = name
		tr.mu.Unlock()
		defer func() {
			tr.mu.Lock()
			delete(tr.writing, ingress)
			tr.mu.Unlock()
		}()
		<-time.After(tr.latency)
		response, err := r.answered(req, next)
		<-time.After(tr.latency)
		return response, err
	})
}

// written returns which Ingress a request writes, and for which Service, "" for none. With UID a Service that was made
// again is another's business. A deletion does not tell for which Service it is.
func (tr *troupe) written(req *http.Request) string {
	collection, name, named := strings.Cut(req.URL.Path, "/ingresses")
	if !named || req.Method == http.MethodGet || req.Method == http.MethodDelete && tr.by == shard.UID {
		return ""
	}
	name = strings.TrimPrefix(name, "/")
	if req.GetBody == nil || !strings.Contains(req.Header.Get("Content-Type"), "json") && req.Method == http.MethodPost {
		return collection + "/" + name
	}
	reader, err := req.GetBody()
	require.NoError(tr.t, err)
	raw, err := io.ReadAll(reader)
	require.NoError(tr.t, err)
	var body metav1.PartialObjectMetadata
	require.NoError(tr.t, json.Unmarshal(raw, &body))
	if name == "" {
		name = body.Name
	}
	if tr.by == shard.UID {
		name += " of " + string(body.OwnerReferences[0].UID)
	}
	return collection + "/" + name
}

// answered counts answers to writes of Ingresses, and holds back what a watch of them brings.
func (r *sharded) answered(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(req)
	if err != nil || !strings.Contains(req.URL.Path, "/ingresses") {
		return response, err
	}
	if req.Method == http.MethodGet {
		response.Body = thawing{response.Body, r}
		return response, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[fmt.Sprint(req.Method, " ", response.StatusCode)]++
	return response, nil
}

// thawing is a body that can be held back, also while a Read waits for it.
type thawing struct {
	io.ReadCloser
	r *sharded
}

func (b thawing) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	frozen := b.r.frozen
	b.r.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return n, err
}

func (r *sharded) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
}
