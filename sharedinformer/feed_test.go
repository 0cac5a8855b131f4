package sharedinformer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// preloader puts an object into the queue before a reflector watches on from its version.
type preloader struct {
	*reflector.Reflector[*config]
	queue Queue[*config]
	objs  []*config
	at    string
}

func (p *preloader) Run(ctx context.Context) {
	_ = p.queue.Replace(p.objs, nil, p.at)
	<-p.queue.Synced()
	p.Reflector.Run(ctx)
}

func TestFeed_FillsTheQueueInTheReflectorsPlace(t *testing.T) {
	saved := &config{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "uid-1", ResourceVersion: "1"}}
	feed := func(lw listwatch.ListerWatcher[*config], queue Queue[*config], opts reflector.Options) Feeder {
		opts.ResumeFrom = "1"
		return &preloader{reflector.New(lw, reflector.Sink[*config](queue), opts), queue, []*config{saved}, "1"}
	}
	inVirtualTime(t, Options[*config]{Feed: feed, ResyncPeriod: time.Minute}, func(s *story) {
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.Start()
		s.server.Put("a", "2")
		s.Expect(r, "add a@1 initial", "update a@1→2")
		s.Pass(time.Minute)
		s.Expect(r, "update a@2→2")
		require.Zero(s, s.server.lists, "it watched on")
		require.EqualValues(s, 1, s.informer.Stats().Reflector.Watches)
		require.Equal(s, "2", s.informer.LastSyncResourceVersion())
	})
}
