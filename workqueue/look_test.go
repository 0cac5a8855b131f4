package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestContents_IsWhatTheQueueHoldsAtAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewDelaying(Options[string]{})
		defer q.ShutDown()
		due := time.Now().Add(time.Hour)
		q.Add("taken")
		take(t, q)
		q.Add("taken")
		q.AddWithPriority("low", -1)
		q.Add("normal")
		q.AddWithPriority("high", 1)
		q.AddAfter("later", time.Hour)
		q.AddAfter("normal", time.Hour)
		queued, processing, delayed := q.Contents()
		assert.Equal(t, []string{"high", "normal", "low"}, queued)
		assert.Equal(t, map[string]bool{"taken": true}, processing)
		assert.Equal(t, map[string]time.Time{"later": due, "normal": due}, delayed)
	})
}

func TestContents_HasWhatAnOrderStores(t *testing.T) {
	q := New(Options[string]{Order: &lifo{}})
	q.Add("a")
	q.Add("b")
	q.Add("c")
	take(t, q)
	queued, processing, _ := q.Contents()
	assert.ElementsMatch(t, []string{"a", "b"}, queued)
	assert.Equal(t, map[string]bool{"c": false}, processing)
}
