package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// checkpointed is an informer as a program makes it at each start.
func checkpointed(k *apiservertest.Server, opts informerOptions, file Options, sel listwatch.Options) *Informer[*config] {
	k.Helper()
	if file.Cluster == "" {
		file.Cluster = "test"
	}
	opts.WatchErrorHandler = func(context.Context, error) {}
	informer, err := New(k.ConfigMaps(sel), opts, file)
	require.NoError(k, err)
	return informer
}

// runLogged is Run with what is logged.
func runLogged(k *apiservertest.Server, informer *Informer[*config]) (stop func(), logged func() string) {
	lines := make(chan string, 1000)
	logger := funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
	stop = apiservertest.Go(k, func(ctx context.Context) error { return informer.Run(klog.NewContext(ctx, logger)) })
	return stop, func() string {
		var all []string
		for {
			select {
			case line := <-lines:
				all = append(all, line)
			default:
				return strings.Join(all, "\n")
			}
		}
	}
}

// saveOne runs an informer once, which leaves a checkpoint of what there is.
func saveOne(k *apiservertest.Server, path string) {
	k.Helper()
	first := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
	stop := apiservertest.Go(k, first.Run)
	require.NoError(k, first.WaitForSync(k.Context()))
	stop()
	require.NoError(k, first.Checkpoint().Err)
	require.EqualValues(k, 1, first.Checkpoint().Saves)
	k.Asked()
}

func TestCheckpoint_AWarmStartMakesNoList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("a", "1")
		k.Put("b", "1")
		k.Put("c", "1")
		saveOne(k, path)
		k.Put("a", "2")
		k.Delete("b")
		k.Put("d", "1")

		second := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		r := newRecorder()
		reg, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		stop := apiservertest.Go(k, second.Run)
		require.NoError(k, second.WaitForSync(k.Context()))
		<-reg.Synced()
		apiservertest.Pass(2 * time.Minute)
		require.Equal(k, []string{"one", "watch"}, k.Asked(), "no list of either kind")
		require.Equal(k, map[string]string{"a": "2", "c": "1", "d": "1"}, apiservertest.Values(second.Store().All()))
		log := r.take()
		require.Len(k, log, 6)
		for _, line := range log[:3] {
			require.Regexp(k, `^add [abc]@\d+ initial$`, line)
		}
		require.Regexp(k, `^update a@`, log[3])
		require.Regexp(k, `^delete b@\d+$`, log[4], "seen, so it is no tombstone of unknown state")
		require.Regexp(k, `^add d@\d+( initial)?$`, log[5], "before or after the informer has synced")
		k.Put("e", "1")
		synctest.Wait()
		require.Regexp(k, `^add e@\d+$`, strings.Join(r.take(), "\n"))
		require.Empty(k, r.lies)
		require.NotEmpty(k, second.Checkpoint().Resumed)
		stop()
	})
}

// The server was set back to a backup: to a watch from a version that is still to come it would be silent.
func TestCheckpoint_AheadOfTheServerIsReplacedByAList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		for _, name := range []string{"a", "b", "c"} {
			k.Put(name, "1")
		}
		saveOne(k, path)
	})
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("b", "before")
		second := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop, logged := runLogged(k, second)
		require.NoError(k, second.WaitForSync(k.Context()))
		require.Equal(k, map[string]string{"b": "before"}, apiservertest.Values(second.Store().All()))
		require.Contains(k, logged(), "it was set back")
		require.Equal(k, "one", k.Asked()[0], "no watch from there")
		stop()
	})
}

// The server has forgotten what came after the checkpoint: the list that follows tells what went meanwhile.
func TestCheckpoint_TooOldIsReplacedByAListWithTombstones(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		for _, name := range []string{"stays", "changes", "goes"} {
			k.Put(name, "1")
		}
		saveOne(k, path)
		k.Put("changes", "2")
		k.Delete("goes")
		k.Put("comes", "1")
		k.Faults().Compact()

		second := checkpointed(k, informerOptions{}, Options{Path: path}, listwatch.Options{})
		r := newRecorder()
		_, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		stop, logged := runLogged(k, second)
		apiservertest.Pass(time.Minute)
		require.True(k, second.HasSynced())
		require.Equal(k, map[string]string{"stays": "1", "changes": "2", "comes": "1"}, apiservertest.Values(second.Store().All()))
		log := strings.Join(r.take(), "\n")
		require.Regexp(k, `delete goes@\d+ unseen`, log)
		require.Regexp(k, `update changes@`, log)
		require.Regexp(k, `add comes@`, log)
		require.Empty(k, r.lies)
		lines := logged()
		require.Equal(k, 1, strings.Count(lines, "Server does not watch on from the checkpoint, listing"), lines)
		stop()
	})
}

// Whatever is not to be trusted is answered by a list, and a line that says why.
func TestCheckpoint_ForeignOrDamagedFallsBackToAList(t *testing.T) {
	folder := t.TempDir()
	identity := func(obj *config) (*config, error) { return obj, nil }
	for name, c := range map[string]struct {
		opts   informerOptions
		file   Options
		sel    listwatch.Options
		damage func(data []byte) []byte
		says   string
	}{
		"cluster":      {file: Options{Cluster: "other"}, says: "its cluster is"},
		"selector":     {sel: listwatch.Options{LabelSelector: "a=b"}, says: "its source is"},
		"transform":    {opts: informerOptions{Transform: identity}, file: Options{TransformID: "v2"}, says: "its transform is"},
		"cut":          {damage: func(data []byte) []byte { return data[:len(data)/2] }, says: "damaged"},
		"changed":      {damage: func(data []byte) []byte { data[len(data)/2]++; return data }, says: "damaged"},
		"empty":        {damage: func([]byte) []byte { return nil }, says: "damaged"},
		"other format": {damage: func(data []byte) []byte { data[7]++; return data }, says: "another format version"},
		"missing":      {says: "No checkpoint yet"},
	} {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
				path := filepath.Join(folder, strings.ReplaceAll(name, " ", ""))
				labelled := apiservertest.ConfigMap("a", "1")
				labelled.Labels = map[string]string{"a": "b"}
				k.PutObject(labelled)
				saveOne(k, path)
				if c.damage != nil {
					data, err := os.ReadFile(path)
					require.NoError(k, err)
					require.NoError(k, os.WriteFile(path, c.damage(data), 0o600))
				}
				if name == "missing" {
					require.NoError(k, os.Remove(path))
				}
				k.Put("a", "2")
				c.file.Path = path
				second := checkpointed(k, c.opts, c.file, c.sel)
				r := newRecorder()
				_, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
				require.NoError(k, err)
				stop, logged := runLogged(k, second)
				require.NoError(k, second.WaitForSync(k.Context()))
				synctest.Wait()
				require.Contains(k, k.Asked()[0], "list")
				require.Len(k, r.take(), 1, "the add of the list, and nothing of the file")
				lines := logged()
				require.Contains(k, lines, c.says)
				require.Equal(k, 1, strings.Count(lines, "listing"), lines)
				stop()
			})
		})
	}
}

func TestCheckpoint_OptionsThatCannotBeKeptAreRefusedAloud(t *testing.T) {
	identity := func(obj *config) (*config, error) { return obj, nil }
	whole := Options{Path: filepath.Join(t.TempDir(), "configmaps"), Cluster: "c", Source: "s"}
	for says, c := range map[string]struct {
		opts informerOptions
		file Options
	}{
		"set Path":        {file: Options{Cluster: "c", Source: "s"}},
		"set Cluster":     {file: Options{Path: "x", Source: "s"}},
		"set Source":      {file: Options{Path: "x", Cluster: "c"}},
		"set TransformID": {opts: informerOptions{Transform: identity}, file: whole},
		"the checkpoint sets Feed and SyncGate itself": {opts: informerOptions{SyncGate: make(chan struct{})}, file: whole},
		sharedinformer.ErrNoStoreVersion.Error():       {opts: informerOptions{Queue: sharedinformer.PerKey}, file: whole},
	} {
		_, err := New(newServer(), c.opts, c.file)
		require.ErrorIs(t, err, ErrNoCheckpoint)
		require.ErrorContains(t, err, says)
	}
	_, err := New[listwatch.Object](nil, sharedinformer.Options[listwatch.Object]{}, whole)
	require.ErrorIs(t, err, ErrNoCheckpoint)
	require.ErrorContains(t, err, "no pointer to a struct", "an interface does not say what to decode")
}

func TestCheckpoint_IsWrittenWhenTheStoreHasMovedAndAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	inVirtualTime(t, informerOptions{}, Options{Path: path, Cluster: "c", Source: "s", Interval: time.Minute}, func(s *story) {
		saved := func() (uint64, string) {
			stats := s.informer.Checkpoint()
			return stats.Saves, stats.Saved
		}
		s.server.Put("a", "1")
		s.Start()
		s.Pass(61 * time.Second)
		saves, version := saved()
		require.EqualValues(s, 1, saves)
		require.Equal(s, "1", version)
		s.Pass(time.Hour)
		saves, _ = saved()
		require.EqualValues(s, 1, saves, "nothing has changed")
		s.server.Put("a", "2")
		synctest.Wait()
		s.Stop()
		saves, version = saved()
		require.EqualValues(s, 2, saves)
		require.Equal(s, "2", version)
	})
}

func TestCheckpoint_AnUnwritableFileNeverHarmsTheInformer(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "configmaps")
	file := Options{Path: path, Cluster: "c", Source: "s", Interval: time.Minute}
	inVirtualTime(t, informerOptions{}, file, func(s *story) {
		s.server.Put("a", "1")
		s.Start()
		s.Pass(time.Minute)
		old, err := os.ReadFile(path)
		require.NoError(s, err)
		// What cannot be removed takes the place of the temporary file.
		require.NoError(s, os.MkdirAll(filepath.Join(path+".tmp", "x"), 0o700))
		s.server.Put("a", "2")
		s.Pass(3 * time.Minute)
		s.ExpectStore()
		stats := s.informer.Checkpoint()
		require.EqualValues(s, 3, stats.Failures)
		require.Error(s, stats.Err)
		still, err := os.ReadFile(path)
		require.NoError(s, err)
		require.True(s, bytes.Equal(old, still))
		require.NoError(s, os.RemoveAll(path+".tmp"))
		s.Pass(time.Minute)
		require.NoError(s, s.informer.Checkpoint().Err)
		require.Equal(s, "2", s.informer.Checkpoint().Saved)
	})
}

// An object that could not be transformed is not in the store, and a watch from the checkpoint would not bring it.
func TestCheckpoint_IsNotWrittenOnceAnObjectWasLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	opts := informerOptions{
		Transform: func(obj *config) (*config, error) {
			if obj.Name == "bad" {
				return nil, errors.New("not this one")
			}
			return obj, nil
		},
		OnObjectError: func(listwatch.Key, error) {},
	}
	file := Options{Path: path, Cluster: "c", Source: "s", TransformID: "t"}
	inVirtualTime(t, opts, file, func(s *story) {
		s.server.Put("good", "1")
		s.Start()
		s.Pass(time.Minute)
		old, err := os.ReadFile(path)
		require.NoError(s, err)
		s.server.Put("bad", "1")
		s.server.Put("good", "2")
		s.Pass(time.Minute)
		s.Stop()
		require.ErrorIs(s, s.informer.Checkpoint().Err, ErrNoCheckpoint)
		still, err := os.ReadFile(path)
		require.NoError(s, err)
		require.Equal(s, old, still)
	})
}

// What the client could not read is not in the store either.
func TestCheckpoint_IsNotWrittenOnceAnObjectWasUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	opts := informerOptions{OnObjectError: func(listwatch.Key, error) {}}
	inVirtualTime(t, opts, Options{Path: path, Cluster: "c", Source: "s"}, func(s *story) {
		s.server.Put("good", "1")
		s.server.Put("bad", "1")
		s.server.Garble("bad")
		s.Start()
		s.Pass(time.Hour)
		s.Stop()
		require.ErrorIs(s, s.informer.Checkpoint().Err, ErrNoCheckpoint)
		require.NoFileExists(s, path)
	})
}

// The transform has seen the objects of the file before they were written.
func TestCheckpoint_RestoredObjectsAreNotTransformedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("a", "1")
		opts := informerOptions{
			Transform: func(obj *config) (*config, error) { obj.Data["value"] += "!"; return obj, nil },
		}
		for range 3 {
			informer := checkpointed(k, opts, Options{Path: path, TransformID: "shout"}, listwatch.Options{})
			stop := apiservertest.Go(k, informer.Run)
			require.NoError(k, informer.WaitForSync(k.Context()))
			require.Equal(k, map[string]string{"a": "1!"}, apiservertest.Values(informer.Store().All()))
			stop()
		}
	})
}

// Whoever takes the transform out, or puts one in, may forget about its name.
func TestCheckpoint_ANameWithoutATransformIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, k *apiservertest.Server) {
		k.Put("a", "1")
		shout := func(obj *config) (*config, error) { obj.Data["value"] += "!"; return obj, nil }
		for _, c := range []struct {
			transform func(*config) (*config, error)
			a         string
		}{{shout, "1!"}, {nil, "1"}, {shout, "1!"}} {
			informer := checkpointed(k,
				informerOptions{Transform: c.transform}, Options{Path: path, TransformID: "shout"}, listwatch.Options{})
			stop := apiservertest.Go(k, informer.Run)
			require.NoError(k, informer.WaitForSync(k.Context()))
			require.Equal(k, map[string]string{"a": c.a}, apiservertest.Values(informer.Store().All()))
			stop()
		}
	})
}

func TestShapeOf_TellsApartTypesThatDifferInOneFieldDeepInside(t *testing.T) {
	type inner struct{ A string }
	type one struct{ In []map[string]*inner }
	a := shapeOf(reflect.TypeFor[one]())
	require.Equal(t, a, shapeOf(reflect.TypeFor[one]()))
	b := func() string {
		type inner struct{ A, B string }
		type one struct{ In []map[string]*inner }
		return shapeOf(reflect.TypeFor[one]())
	}()
	require.NotEqual(t, a, b)
	require.NotEqual(t, shapeOf(reflect.TypeFor[corev1.Pod]()), shapeOf(reflect.TypeFor[corev1.Service]()))
}
