package shrink

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsDue_BelowAQuarterOfWhatIsMoreThanKept(t *testing.T) {
	assert.True(t, IsDue(8000, 1999))
	assert.False(t, IsDue(8000, 2000), "a quarter is in use")
	assert.True(t, IsDue(Kept+1, 0))
	assert.False(t, IsDue(Kept, 0), "so much may always be kept")
	assert.False(t, IsDue(0, 0))
}
