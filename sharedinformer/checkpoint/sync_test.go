package checkpoint

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestCheckpoint_IsSyncedOnlyOnceTheServerHasAgreed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("a", "1")
		saveOne(k, path)
		k.Faults().FailNext(-1, apiserver.Failure{Resource: "configmaps", Code: 503})
		second := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop := apiservertest.Go(k, second.Run)
		apiservertest.Pass(time.Minute)
		require.Equal(k, map[string]string{"a": "1"}, apiservertest.Values(second.Store().All()), "there to be read, without a server")
		require.False(k, second.HasSynced())
		late := newRecorder()
		reg, err := second.AddHandler(late, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		synctest.Wait()
		require.False(k, reg.HasSynced())
		k.Faults().Reset()
		require.NoError(k, second.WaitForSync(k.Context()))
		<-reg.Synced()
		k.Put("a", "2")
		synctest.Wait()
		require.Len(k, late.take(), 2)
		require.NotContains(k, k.Asked(), "list")
		stop()
	})
}

// Servers answer 200 to a watch from a version that they no longer have, and say so in its first event.
func TestCheckpoint_TooOldIsNotSyncedBeforeTheListIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("goes", "1")
		saveOne(k, path)
		k.Delete("goes")
		k.Put("comes", "1")
		k.Faults().Compact()

		second := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		r := newRecorder()
		reg, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		stop := apiservertest.Go(k, second.Run)
		synctest.Wait()
		require.False(k, second.HasSynced())
		require.False(k, reg.HasSynced())
		require.Equal(k, map[string]string{"goes": "1"}, apiservertest.Values(second.Store().All()), "there to be read")
		require.NoError(k, second.WaitForSync(k.Context()))
		require.Equal(k, map[string]string{"comes": "1"}, apiservertest.Values(second.Store().All()))
		<-reg.Synced()
		synctest.Wait()
		require.Regexp(k, `^add goes@\d+ initial\ndelete goes@\d+ unseen\nadd comes@\d+ initial$`, strings.Join(r.take(), "\n"))
		stop()
	})
}

func TestCheckpoint_IsSyncedByTheFirstEventOrAQuietSecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("a", "1")
		saveOne(k, path)
		run := func() time.Duration {
			informer := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
			begun := time.Now()
			stop := apiservertest.Go(k, informer.Run)
			defer stop()
			require.NoError(k, informer.WaitForSync(k.Context()))
			return time.Since(begun)
		}
		require.Equal(k, time.Second, run())
		k.Put("a", "2")
		require.Zero(k, run())
		require.Equal(k, []string{"one", "watch", "one", "watch"}, k.Asked())
	})
}

// The server was set back and has come to the same version by another way: the file must not keep what never was.
func TestCheckpoint_AListOfTheSavedVersionIsWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("a", "kept")
		backup := k.Faults().Backup()
		k.Put("a", "lost")
		first := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop := apiservertest.Go(k, first.Run)
		apiservertest.Pass(2 * time.Minute)
		require.EqualValues(k, 1, first.Checkpoint().Saves)
		k.Faults().FailNext(1, apiserver.Failure{Verb: "watch", Resource: "configmaps", Code: http.StatusGone})
		k.Faults().Restore(backup)
		k.Put("a", "made anew")
		apiservertest.Pass(2 * time.Minute)
		require.Equal(k, map[string]string{"a": "made anew"}, apiservertest.Values(first.Store().All()))
		stop()

		second := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop = apiservertest.Go(k, second.Run)
		apiservertest.Pass(time.Minute)
		require.NotEmpty(k, second.Checkpoint().Resumed)
		require.Equal(k, map[string]string{"a": "made anew"}, apiservertest.Values(second.Store().All()))
		stop()
	})
}
