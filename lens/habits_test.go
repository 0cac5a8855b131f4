package lens

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
)

// wrote is what one reconcile wrote, as its event tells it.
type wrote struct{ action, object, field string }

// passes plays reconciles of ns/p. Each writes once, and that write's event causes the next one. After the last one either
// the event is on its way, or one more reconcile finds nothing to write.
func passes(t *testing.T, goesOn bool, all ...wrote) Key {
	t.Helper()
	return passesUnder(tell(t), goesOn, all...)
}

func passesUnder(l told, goesOn bool, all ...wrote) Key {
	l.enqueued("c", "ns/p", "the program", 0)
	for i, w := range all {
		c := Cause{Informer: "things", Handler: "h", Action: w.action, Object: w.object, ResourceVersion: fmt.Sprint(10 + i)}
		write := Write{Verb: "PUT", Code: 200, Object: w.object, ResourceVersion: c.ResourceVersion}
		if w.action == "delete" {
			c.uid = types.UID(c.ResourceVersion)
			write = Write{Verb: "DELETE", Code: 200, Object: w.object, uid: c.uid}
		}
		l.taken("c", "ns/p")
		by, _ := l.beginWrite(w.object)
		l.endWrite(by, w.object, write)
		l.done("c", "ns/p")
		if !goesOn || i < len(all)-1 {
			l.echo(c, w.field)
		}
	}
	if !goesOn {
		l.reconcile("c", "ns/p", "")
	}
	return l.key("c", "ns/p")
}

// echo is the call of a handler with an own write.
func (l told) echo(c Cause, field string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		self := l.called(c, func(c *Cause) { c.Fields = slices.DeleteFunc([]string{field}, func(f string) bool { return f == "" }) })
		l.enqueued("c", "ns/p", "the program", 0)
		l.returned(self, "things", "h")
	}()
	<-done
}

func TestWakesItself_NotAKeyThatIsSetUpInSeveralPasses(t *testing.T) {
	phase := wrote{"update", "ns/p", ".status.phase"}
	for name, all := range map[string][]wrote{
		"fields one after the other": {
			{"update", "ns/p", ".metadata.finalizers"}, {"update", "ns/p", ".spec.class"}, {"update", "ns/p", ".status.phase"},
			{"update", "ns/p", ".status.address"}, {"update", "ns/p", ".status.ready"},
		},
		"children one after the other": {{"add", "ns/a", ""}, {"add", "ns/b", ""}, {"add", "ns/c", ""}, {"add", "ns/d", ""}},
		"phases of one field":          {phase, phase, phase, phase},
	} {
		t.Run(name, func(t *testing.T) {
			k := passes(t, false, all...)
			require.Len(t, k.Reconciles, len(all)+1)
			require.False(t, k.WakesItself)
			require.Empty(t, k.Flapping)
		})
	}
	k := passes(t, true, wrote{"update", "ns/p", ".a"}, wrote{"update", "ns/p", ".b"}, wrote{"update", "ns/p", ".c"}, wrote{"update", "ns/p", ".d"})
	require.False(t, k.WakesItself, "nor in the middle of it, unless it writes the same again and again")
}

func TestWakesItself_ALoopOfAnyKind(t *testing.T) {
	field := wrote{"update", "ns/p", ".f"}
	create, remove := wrote{"add", "ns/child", ""}, wrote{"delete", "ns/child", ""}
	one, other := wrote{"update", "ns/p", ".a"}, wrote{"update", "ns/p", ".b"}
	for name, c := range map[string]struct {
		all      []wrote
		flapping []string
	}{
		"a field":                    {[]wrote{field, field, field, field}, []string{".f"}},
		"two fields in turn":         {[]wrote{one, other, one, other, one, other}, []string{".a"}},
		"a child made and deleted":   {[]wrote{create, remove, create, remove, create, remove}, []string{}},
		"ever new children":          {[]wrote{{"add", "ns/x1", ""}, {"add", "ns/x2", ""}, {"add", "ns/x3", ""}, {"add", "ns/x4", ""}}, []string{}},
		"fields that nobody can see": {[]wrote{{"update", "ns/p", ""}, {"update", "ns/p", ""}, {"update", "ns/p", ""}, {"update", "ns/p", ""}}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			k := passes(t, true, c.all...)
			require.True(t, k.WakesItself)
			require.Equal(t, c.flapping, k.Flapping)
		})
	}
	k := passes(t, false, slices.Repeat([]wrote{field}, aLoop)...)
	require.True(t, k.WakesItself, "a loop that has ended")
	few := told{t, New(Options{On: true, PerKey: 1})}
	few.ObserveInformer("things")
	k = passesUnder(few, false, slices.Repeat([]wrote{field}, aLoop)...)
	require.True(t, k.WakesItself, "also if few reconciles are to be remembered")
}

// What a controller that applies everything in each pass writes at last changes nothing.
func TestWakesItself_NotByAWriteWithoutAChange(t *testing.T) {
	field := wrote{"update", "ns/p", ".status.conditions"}
	l := tell(t)
	for i := range inARow {
		version := fmt.Sprint(10 + i)
		l.reconcile("c", "ns/p", version)
		l.echo(Cause{Informer: "things", Action: "update", Object: "ns/p", ResourceVersion: version}, field.field)
	}
	l.reconcile("c", "ns/p", fmt.Sprint(10+inARow-1)) // the server answers with the version that is there
	k := l.key("c", "ns/p")
	require.Len(t, k.Reconciles[inARow].Writes, 1)
	require.False(t, k.WakesItself)
}
