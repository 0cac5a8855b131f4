package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRetryAfterSeconds(t *testing.T) {
	assert.Equal(t, 5, retryAfterSeconds("5"))
	assert.Equal(t, 0, retryAfterSeconds("-5"))
	assert.Equal(t, 0, retryAfterSeconds("soon"))
	assert.Equal(t, 0, retryAfterSeconds("Wed, 21 Oct 2015 07:28:00 GMT"))
	assert.Positive(t, retryAfterSeconds("Wed, 21 Oct 2099 07:28:00 GMT"))
	assert.Equal(t, math.MaxInt32, retryAfterSeconds("4294967297"))
	assert.Equal(t, math.MaxInt32, retryAfterSeconds("Fri, 31 Dec 9999 23:59:59 GMT"))
}
