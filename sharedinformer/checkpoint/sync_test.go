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
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func TestCheckpoint_IsSyncedOnlyOnceTheServerHasAgreed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		k.Create("a", "1", nil)
		k.saveOne(path)
		k.server.Faults().FailNext(-1, apiserver.Failure{Resource: "configmaps", Code: 503})
		second := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop := k.Run(second)
		pass(time.Minute)
		require.Equal(k, map[string]string{"a": "1"}, values(second), "there to be read, without a server")
		require.False(k, second.HasSynced())
		late := newRecorder()
		reg, err := second.AddHandler(late, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		synctest.Wait()
		require.False(k, reg.HasSynced())
		k.server.Faults().Reset()
		require.NoError(k, second.WaitForSync(k.Context()))
		<-reg.Synced()
		k.Update("a", "2")
		synctest.Wait()
		require.Len(k, late.take(), 2)
		require.NotContains(k, k.Asked(), "list")
		stop()
	})
}

// Servers answer 200 to a watch from a version that they no longer have, and say so in its first event.
func TestCheckpoint_TooOldIsNotSyncedBeforeTheListIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		k.Create("goes", "1", nil)
		k.saveOne(path)
		k.Delete("goes")
		k.Create("comes", "1", nil)
		k.server.Faults().Compact()

		second := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		r := newRecorder()
		reg, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		stop := k.Run(second)
		synctest.Wait()
		require.False(k, second.HasSynced())
		require.False(k, reg.HasSynced())
		require.Equal(k, map[string]string{"goes": "1"}, values(second), "there to be read")
		require.NoError(k, second.WaitForSync(k.Context()))
		require.Equal(k, map[string]string{"comes": "1"}, values(second))
		<-reg.Synced()
		synctest.Wait()
		require.Regexp(k, `^add goes@\d+ initial\ndelete goes@\d+ unseen\nadd comes@\d+ initial$`, strings.Join(r.take(), "\n"))
		stop()
	})
}

func TestCheckpoint_IsSyncedByTheFirstEventOrAQuietSecond(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		k.Create("a", "1", nil)
		k.saveOne(path)
		run := func() time.Duration {
			informer := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
			begun := time.Now()
			stop := k.Run(informer)
			defer stop()
			require.NoError(k, informer.WaitForSync(k.Context()))
			return time.Since(begun)
		}
		require.Equal(k, time.Second, run())
		k.Update("a", "2")
		require.Zero(k, run())
		require.Equal(k, []string{"one", "watch", "one", "watch"}, k.Asked())
	})
}

// The server was set back and has come to the same version by another way: the file must not keep what never was.
func TestCheckpoint_AListOfTheSavedVersionIsWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		k.Create("a", "kept", nil)
		backup := k.server.Faults().Backup()
		k.Update("a", "lost")
		first := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop := k.Run(first)
		pass(2 * time.Minute)
		require.EqualValues(k, 1, first.Checkpoint().Saves)
		k.server.Faults().FailNext(1, apiserver.Failure{Verb: "watch", Resource: "configmaps", Code: http.StatusGone})
		k.server.Faults().Restore(backup)
		k.Update("a", "made anew")
		pass(2 * time.Minute)
		require.Equal(k, map[string]string{"a": "made anew"}, values(first))
		stop()

		second := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop = k.Run(second)
		pass(time.Minute)
		require.NotEmpty(k, second.Checkpoint().Resumed)
		require.Equal(k, map[string]string{"a": "made anew"}, values(second))
		stop()
	})
}
