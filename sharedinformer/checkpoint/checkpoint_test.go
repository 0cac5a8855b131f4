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

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// checkpointed is an informer as a program makes it at each start.
func (k *kube) checkpointed(opts informerOptions, file Options, sel listwatch.Options) *Informer[*config] {
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
func (k *kube) runLogged(informer *Informer[*config]) (stop func(), logged func() string) {
	lines := make(chan string, 1000)
	logger := funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	return func() { cancel(); require.NoError(k, <-done) }, func() string {
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
func (k *kube) saveOne(path string) {
	k.Helper()
	first := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
	stop := k.Run(first)
	require.NoError(k, first.WaitForSync(k.Context()))
	stop()
	require.NoError(k, first.Checkpoint().Err)
	require.EqualValues(k, 1, first.Checkpoint().Saves)
	k.Asked()
}

func TestCheckpoint_AWarmStartMakesNoList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		k.Create("a", "1", nil)
		k.Create("b", "1", nil)
		k.Create("c", "1", nil)
		k.saveOne(path)
		k.Update("a", "2")
		k.Delete("b")
		k.Create("d", "1", nil)

		second := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		r := newRecorder()
		reg, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		stop := k.Run(second)
		require.NoError(k, second.WaitForSync(k.Context()))
		<-reg.Synced()
		pass(2 * time.Minute)
		require.Equal(k, []string{"one", "watch"}, k.Asked(), "no list of either kind")
		require.Equal(k, map[string]string{"a": "2", "c": "1", "d": "1"}, values(second))
		log := r.take()
		require.Len(k, log, 6)
		for _, line := range log[:3] {
			require.Regexp(k, `^add [abc]@\d+ initial$`, line)
		}
		require.Regexp(k, `^update a@`, log[3])
		require.Regexp(k, `^delete b@\d+$`, log[4], "seen, so it is no tombstone of unknown state")
		require.Regexp(k, `^add d@\d+( initial)?$`, log[5], "before or after the informer has synced")
		k.Create("e", "1", nil)
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
	onKube(t, func(k *kube) {
		for _, name := range []string{"a", "b", "c"} {
			k.Create(name, "1", nil)
		}
		k.saveOne(path)
	})
	onKube(t, func(k *kube) {
		k.Create("b", "before", nil)
		second := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		stop, logged := k.runLogged(second)
		require.NoError(k, second.WaitForSync(k.Context()))
		require.Equal(k, map[string]string{"b": "before"}, values(second))
		require.Contains(k, logged(), "it was set back")
		require.Equal(k, "one", k.Asked()[0], "no watch from there")
		stop()
	})
}

// The server has forgotten what came after the checkpoint: the list that follows tells what went meanwhile.
func TestCheckpoint_TooOldIsReplacedByAListWithTombstones(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		for _, name := range []string{"stays", "changes", "goes"} {
			k.Create(name, "1", nil)
		}
		k.saveOne(path)
		k.Update("changes", "2")
		k.Delete("goes")
		k.Create("comes", "1", nil)
		k.server.Faults().Compact()

		second := k.checkpointed(informerOptions{}, Options{Path: path}, listwatch.Options{})
		r := newRecorder()
		_, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
		require.NoError(k, err)
		stop, logged := k.runLogged(second)
		pass(time.Minute)
		require.True(k, second.HasSynced())
		require.Equal(k, map[string]string{"stays": "1", "changes": "2", "comes": "1"}, values(second))
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
			onKube(t, func(k *kube) {
				path := filepath.Join(folder, strings.ReplaceAll(name, " ", ""))
				k.Create("a", "1", map[string]string{"a": "b"})
				k.saveOne(path)
				if c.damage != nil {
					data, err := os.ReadFile(path)
					require.NoError(k, err)
					require.NoError(k, os.WriteFile(path, c.damage(data), 0o600))
				}
				if name == "missing" {
					require.NoError(k, os.Remove(path))
				}
				k.Update("a", "2")
				c.file.Path = path
				second := k.checkpointed(c.opts, c.file, c.sel)
				r := newRecorder()
				_, err := second.AddHandler(r, sharedinformer.HandlerOptions{})
				require.NoError(k, err)
				stop, logged := k.runLogged(second)
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
	onKube(t, func(k *kube) {
		k.Create("a", "1", nil)
		opts := informerOptions{
			Transform: func(obj *config) (*config, error) { obj.Data["value"] += "!"; return obj, nil },
		}
		for range 3 {
			informer := k.checkpointed(opts, Options{Path: path, TransformID: "shout"}, listwatch.Options{})
			stop := k.Run(informer)
			require.NoError(k, informer.WaitForSync(k.Context()))
			require.Equal(k, map[string]string{"a": "1!"}, values(informer))
			stop()
		}
	})
}

// Whoever takes the transform out, or puts one in, may forget about its name.
func TestCheckpoint_ANameWithoutATransformIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "configmaps")
	onKube(t, func(k *kube) {
		k.Create("a", "1", nil)
		shout := func(obj *config) (*config, error) { obj.Data["value"] += "!"; return obj, nil }
		for _, c := range []struct {
			transform func(*config) (*config, error)
			a         string
		}{{shout, "1!"}, {nil, "1"}, {shout, "1!"}} {
			informer := k.checkpointed(
				informerOptions{Transform: c.transform}, Options{Path: path, TransformID: "shout"}, listwatch.Options{})
			stop := k.Run(informer)
			require.NoError(k, informer.WaitForSync(k.Context()))
			require.Equal(k, map[string]string{"a": c.a}, values(informer))
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
