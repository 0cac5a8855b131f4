package look

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

// Nobody would see what a queue says while something is parked, if no event follows.
func TestAsked_TellsOfAnAnswerThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queue asked[int]
		lock, told := make(chan int, 1), 0
		isHeld, late, question := func() bool { return true }, func() { told++ }, func() int { return <-lock }
		ask := func() int { return queue.ask(isHeld, late, question) }
		assert.Equal(t, 0, ask(), "the first answer is not there yet")
		assert.Equal(t, 0, ask(), "nor has it come meanwhile")
		lock <- 4
		synctest.Wait()
		assert.Equal(t, 1, told)
		assert.Equal(t, 4, ask())
		lock <- 4
		synctest.Wait()
		assert.Equal(t, 1, told, "it is the same")
	})
}

func TestAsked_WaitsForTheAnswerIfNothingIsHeld(t *testing.T) {
	var queue asked[int]
	late := func() { t.Error("the answer has come in time") }
	assert.Equal(t, 5, queue.ask(func() bool { return false }, late, func() int { return 5 }))
}
