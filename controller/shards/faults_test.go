package shards

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver"
)

// answerLost loses the answer to the first POST.
type answerLost struct {
	http.RoundTripper
	lost bool
}

func (a *answerLost) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := a.RoundTripper.RoundTrip(req)
	if err != nil || a.lost || req.Method != http.MethodPost {
		return answer, err
	}
	a.lost = true
	_ = answer.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

func TestMember_TakesUpATermWhoseFirstAnswerWasLost(t *testing.T) {
	tell(t, func(s *story) {
		s.Join("a", nil)
		s.Pass(10 * time.Second)
		network := s.network
		s.network = &answerLost{RoundTripper: network}
		s.Join("b", nil)
		s.network = network
		s.Pass(2 * time.Second)
		s.ExpectShared(8)
	})
}

func TestMember_DropsItsShardsWhenItSeesThatItsLeaseIsGone(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", nil)
		s.Pass(10 * time.Second)
		ctx, done, ok := a.Begin(context.Background(), 0)
		require.True(s, ok)
		remove(s, "web-member-a")
		s.Pass(100 * time.Millisecond)
		assert.Empty(s, a.Held())
		assert.Error(s, ctx.Err())
		s.Pass(10 * time.Second)
		assert.Empty(s, a.Held(), "it joins when its reconciles have returned")
		done()
		s.Pass(2 * time.Second)
		assert.Len(s, a.Held(), 8)
	})
}

func remove(s *story, lease string) {
	require.NoError(s, s.client.Leases("default").Delete(context.Background(), lease, metav1.DeleteOptions{}))
}

// Another member has seen a's Lease gone before, and then nothing more until it is gone again.
func TestMember_ALeaseThatIsGoneAgainIsWaitedForAgain(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", nil)
		c := s.Join("c", nil)
		s.Pass(10 * time.Second)
		remove(s, "web-member-a")
		s.Pass(50 * time.Millisecond)
		c.client.Refuse(func(*http.Request) bool { return true })
		s.Faults().BreakWatches()
		s.Pass(time.Minute)
		require.Len(s, a.Held(), 8)
		a.client.Refuse(func(*http.Request) bool { return true })
		remove(s, "web-member-a")
		s.Faults().Compact()
		s.Faults().BreakWatches()
		c.client.Refuse(nil)
		for len(a.Held()) > 0 {
			require.Empty(s, c.Held())
			s.Pass(10 * time.Millisecond)
		}
		a.client.Refuse(nil)
		s.Pass(time.Minute)
		s.ExpectShared(8)
	})
}

func TestMember_ReadySaysWhyItDoesNotJoin(t *testing.T) {
	tell(t, func(s *story) {
		foreign := with(nil, "web", "web-member-b", "x", time.Second)
		foreign.Labels = nil
		_, err := s.client.Leases("default").Create(context.Background(), foreign, metav1.CreateOptions{})
		require.NoError(s, err)
		b := s.Join("b", nil)
		s.Pass(time.Minute)
		assert.ErrorContains(s, b.Ready(), `"web-member-b" already exists`)
		s.Faults().FailNext(-1, apiserver.Failure{
			Verb: "create", Resource: "leases", Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			Message: `namespaces "default" not found`,
		})
		a := s.Join("a", nil)
		s.Pass(time.Minute)
		assert.ErrorContains(s, a.Ready(), `namespaces "default" not found`)
		s.Faults().Reset()
	})
}

func TestMember_ReadySaysThatAReconcileDoesNotReturn(t *testing.T) {
	tell(t, func(s *story) {
		a := s.Join("a", nil)
		s.Pass(time.Second)
		for shard := range 8 {
			_, done, ok := a.Begin(context.Background(), shard)
			require.True(s, ok)
			defer done()
		}
		b := s.Join("b", nil)
		s.Pass(5 * time.Second)
		require.NoError(s, a.Ready())
		s.Pass(2 * time.Second)
		assert.ErrorContains(s, a.Ready(), "which was lost, has not returned for")
		assert.NoError(s, b.Ready())
	})
}

// Whatever holds the log up, the deadline is kept.
func TestMember_ALogThatBlocksDoesNotHoldTheDeadlineUp(t *testing.T) {
	tell(t, func(s *story) {
		blocked := make(chan struct{})
		s.logger = funcr.New(func(string, string) { <-blocked }, funcr.Options{})
		a := s.Join("a", nil)
		s.Pass(10 * time.Second)
		ctx, done, ok := a.Begin(klog.NewContext(context.Background(), s.logger), 0)
		require.True(s, ok)
		a.client.Refuse(func(*http.Request) bool { return true })
		s.Faults().BreakWatches()
		s.Pass(11 * time.Second)
		assert.Error(s, ctx.Err())
		assert.Empty(s, a.Held())
		close(blocked)
		done()
	})
}

// The timer of the deadline comes late after the process was suspended. A reconcile is refused, and then a renewal
// succeeds. The shards count as lost, so that OnChange tells when reconciles can be tried again.
func TestMember_WhoeverWasRefusedIsToldAgainAlsoIfARenewalComesBeforeTheTimer(t *testing.T) {
	tell(t, func(s *story) {
		var gained, lost atomic.Int64
		a := s.Join("a", func(o *Options) {
			o.OnChange = func(g map[int]time.Time, l []int) {
				gained.Add(int64(len(g)))
				lost.Add(int64(len(l)))
			}
		})
		s.Pass(10 * time.Second)
		require.EqualValues(s, 8, gained.Load())
		ctx, done, ok := a.Begin(context.Background(), 1)
		require.True(s, ok)
		a.client.Refuse(func(*http.Request) bool { return true })
		a.mu.Lock()
		a.expiry.Stop()
		left := time.Until(a.deadline)
		a.mu.Unlock()
		s.Pass(left)
		_, _, ok = a.Begin(context.Background(), 0)
		require.False(s, ok)
		require.NoError(s, ctx.Err(), "the timer would have cancelled it")
		a.client.Refuse(nil)
		s.Pass(10 * time.Second)
		require.Error(s, ctx.Err())
		require.Len(s, a.Held(), 7, "one has a reconcile")
		done()
		s.Pass(time.Second)
		require.Len(s, a.Held(), 8)
		require.EqualValues(s, 8, lost.Load())
		require.EqualValues(s, 16, gained.Load())
	})
}
