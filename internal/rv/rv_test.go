package rv

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsOlder_ComparesNumbersAndNothingElse(t *testing.T) {
	assert.True(t, IsOlder("9", "10"))
	assert.False(t, IsOlder("10", "9"))
	assert.False(t, IsOlder("9", "9"))
	for _, other := range []string{"", "0", "a", "-1"} {
		assert.False(t, IsOlder(other, "9"), other)
		assert.False(t, IsOlder("9", other), other)
		assert.Error(t, Check(other), other)
	}
	assert.NoError(t, Check("9"))
}

func TestIsExpired_KnowsBothWaysToSay410(t *testing.T) {
	assert.True(t, IsExpired(fmt.Errorf("wrapped: %w", apierrors.NewResourceExpired("too old"))))
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 410, Reason: metav1.StatusReasonGone}}
	assert.True(t, IsExpired(gone))
	assert.False(t, IsExpired(apierrors.NewBadRequest("bad")))
	assert.False(t, IsExpired(errors.New("broken")))
	assert.False(t, IsExpired(nil))
}
