// Package nextbackoff is exercise 07. Its README says what to do.
package nextbackoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type thing = *metav1.PartialObjectMetadata

// server answers lists as list says, and its watches break after a while.
type server struct {
	list  func(n int) error // of the nth list, counted from 0
	lasts time.Duration     // of a watch
	asked []time.Time

	times  int           // after so many lists it does not answer
	enough chan struct{} // closed then
}

func (s *server) List(ctx context.Context, _ metav1.ListOptions) (*listwatch.List[thing], error) {
	s.asked = append(s.asked, time.Now())
	if len(s.asked) == s.times {
		close(s.enough)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := s.list(len(s.asked) - 1); err != nil {
		return nil, err
	}
	return &listwatch.List[thing]{ResourceVersion: "1"}, nil
}

func (s *server) Watch(ctx context.Context, _ metav1.ListOptions) (listwatch.Stream[thing], error) {
	return stream{ctx, s.lasts}, nil
}

type stream struct {
	ctx   context.Context
	lasts time.Duration
}

func (s stream) Next() (listwatch.Event[thing], error) {
	select {
	case <-time.After(s.lasts):
		return listwatch.Event[thing]{}, apierrors.NewResourceExpired("too old") // so that a list comes next
	case <-s.ctx.Done():
		return listwatch.Event[thing]{}, s.ctx.Err()
	}
}

func (s stream) Close() error { return nil }

// waits lets a reflector list from a server until it has asked so many times, and returns the time between each two.
func waits(t *testing.T, s *server, backoff reflector.Backoff, times int) []time.Duration {
	t.Helper()
	s.times, s.enough = times, make(chan struct{})
	sink := deltafifo.NewInOrder(deltafifo.Options[listwatch.Key, thing]{
		KeyFunc: func(o thing) (listwatch.Key, error) { return listwatch.KeyOf(o), nil },
	})
	r := reflector.New[thing](s, sink, reflector.Options{
		DisableStreamingList: true, Backoff: backoff, OnError: func(context.Context, error) {},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	defer func() { cancel(); <-done }()
	select {
	case <-s.enough:
	case <-time.After(24 * time.Hour):
		require.Fail(t, "it does not ask again for a day")
	}
	var between []time.Duration
	for i := range times - 1 {
		between = append(between, s.asked[i+1].Sub(s.asked[i]))
	}
	return between
}

func always(err error) func(int) error { return func(int) error { return err } }

var errDown = errors.New("down")

const second = time.Second

func TestNextBackoff(t *testing.T) {
	plain := reflector.Backoff{Base: second, Max: 8 * second, Factor: 2, Jitter: -1, ResetAfter: time.Minute}
	act := func(name string, tell func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, tell) })
	}
	act("1 the first wait is Base, and each is longer than the one before by Factor, up to Max", func(t *testing.T) {
		got := waits(t, &server{list: always(errDown)}, plain, 7)
		require.Equal(t, []time.Duration{second, 2 * second, 4 * second, 8 * second, 8 * second, 8 * second}, got)
	})
	act("2 jitter adds up to its part of the wait, and does not grow with it", func(t *testing.T) {
		jittered := plain
		jittered.Jitter = 0.5
		got := waits(t, &server{list: always(errDown)}, jittered, 40)
		different := map[time.Duration]bool{}
		for i, wait := range got {
			without := min(second<<min(i, 3), 8*second)
			require.GreaterOrEqual(t, wait, without, "wait %d", i+1)
			require.LessOrEqual(t, wait, without+without/2, "wait %d", i+1)
			different[wait] = true
		}
		require.Greater(t, len(different), 20, "clients that failed together would come back together")
	})
	act("3 what the server asks for counts if it is longer", func(t *testing.T) {
		busy := apierrors.NewTooManyRequests("busy", 20)
		got := waits(t, &server{list: func(n int) error {
			if n == 1 {
				return busy
			}
			return errDown
		}}, plain, 4)
		require.Equal(t, []time.Duration{second, 20 * second, 4 * second}, got)
	})
	act("4 after a long time without a wait the next one is Base again", func(t *testing.T) {
		s := &server{lasts: 4 * time.Minute, list: func(n int) error {
			if n == 3 {
				return nil
			}
			return errDown
		}}
		got := waits(t, s, plain, 6)
		require.Equal(t, []time.Duration{second, 2 * second, 4 * second, 4*time.Minute + second, 2 * second}, got)
	})
	act("5 after a short one it grows on", func(t *testing.T) {
		s := &server{lasts: 10 * second, list: func(n int) error {
			if n == 1 {
				return nil
			}
			return errDown
		}}
		got := waits(t, s, plain, 4)
		require.Equal(t, []time.Duration{second, 10*second + 2*second, 4 * second}, got)
	})
}
