package guard

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func half(n int, f func(int) (int, error)) (result int, err error) {
	defer Recover("half", &err)
	return f(n)
}

func TestRecover_MakesAnErrorOfAPanicAndLeavesTheRest(t *testing.T) {
	result, err := half(4, func(n int) (int, error) { return n / 2, nil })
	assert.Equal(t, 2, result)
	assert.NoError(t, err)

	odd := errors.New("odd")
	_, err = half(5, func(int) (int, error) { return 0, odd })
	assert.Equal(t, odd, err)

	result, err = half(6, func(int) (int, error) { panic("tired") })
	assert.Zero(t, result)
	assert.ErrorIs(t, err, ErrPanicked)
	assert.EqualError(t, err, "half panicked: tired")
}

func TestRecover_AllocatesNothingWithoutAPanic(t *testing.T) {
	f := func(n int) (int, error) { return n / 2, nil }
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = half(4, f) }))
}
