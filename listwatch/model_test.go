package listwatch

import (
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"

	"glasswatch/listwatch/wire"
)

// wireEvent is the dumb model of one frame: what went in, and what must come out.
type wireEvent struct {
	frame []byte
	ev    Event[*corev1.Service]
	bad   bool
	key   Key
}

func drawEvent(t *rapid.T, tb testing.TB, contentType string) wireEvent {
	text := rapid.StringMatching(`[a-z"\\{}\[\]ü]{1,12}`)
	obj := serviceV1(text.Draw(t, "name"), text.Draw(t, "resourceVersion"))
	obj.Labels = rapid.MapOfN(text, text, 1, 3).Draw(t, "labels")
	want := *obj
	want.TypeMeta = metav1.TypeMeta{}
	typ := rapid.SampledFrom([]EventType{Added, Modified, Deleted}).Draw(t, "type")
	out := wireEvent{key: KeyOf(obj)}
	switch rapid.IntRange(0, 5).Draw(t, "kind of frame") {
	case 0:
		end := rapid.Bool().Draw(t, "initialEventsEnd")
		out.frame = encodeEvent(tb, contentType, watch.Bookmark, bookmarkV1(obj.ResourceVersion, end))
		out.ev = Event[*corev1.Service]{Type: Bookmark, ResourceVersion: obj.ResourceVersion, InitialEventsEnd: end}
	case 1:
		out.bad = true
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: obj.ObjectMeta}
		out.frame = encodeEvent(tb, contentType, watch.EventType(typ.String()), pod)
		out.ev = Event[*corev1.Service]{Type: typ, ResourceVersion: obj.ResourceVersion}
	default:
		out.frame = encodeEvent(tb, contentType, watch.EventType(typ.String()), obj)
		out.ev = Event[*corev1.Service]{Type: typ, Object: &want, ResourceVersion: obj.ResourceVersion}
	}
	return out
}

// byBatches is a stream whose Next is made of NextBatch.
type byBatches[T Object] struct {
	BatchStream[T]
	room, ready []Event[T]
}

func (b *byBatches[T]) Next() (ev Event[T], err error) {
	if len(b.ready) == 0 {
		n, err := b.NextBatch(b.room)
		if err != nil {
			return ev, err
		}
		b.ready = b.room[:n]
	}
	ev, b.ready = b.ready[0], b.ready[1:]
	return ev, nil
}

// Any sequence of events, in either format, cut into pieces anywhere, comes out as the server's own encoder wrote it;
// cut off anywhere, it comes out up to there and then fails, cleanly only between two frames.
func TestModel_StreamDeliversWhatTheServerWrote(t *testing.T) {
	codec, err := newTypedCodec[*corev1.Service](scheme.Scheme, corev1.SchemeGroupVersion, reflect.TypeFor[*corev1.Service]())
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		contentType := rapid.SampledFrom(bothTypes).Draw(rt, "content type")
		events := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) wireEvent { return drawEvent(rt, t, contentType) }), 0, 6).Draw(rt, "events")
		var body []byte
		var ends []int // of the frames, in body
		for _, e := range events {
			body = append(body, e.frame...)
			ends = append(ends, len(body))
		}
		cut := len(body)
		if rapid.Bool().Draw(rt, "cut") {
			cut = rapid.IntRange(0, len(body)).Draw(rt, "at")
		}
		format, err := wire.FormatOf(contentType)
		require.NoError(rt, err)
		from := &chunks{data: body[:cut], sizes: rapid.SliceOfN(rapid.IntRange(1, 600), 1, 4).Draw(rt, "pieces")}
		pulled := streamOver(t.Context(), format, codec, from)

		next := pulled.Next
		if rapid.Bool().Draw(rt, "in batches") {
			room := make([]Event[*corev1.Service], rapid.IntRange(1, 8).Draw(rt, "room"))
			next = (&byBatches[*corev1.Service]{BatchStream: pulled, room: room}).Next
		}
		start := 0
		for i, want := range events {
			end := ends[i]
			if contentType == jsonType {
				end-- // the newline after a frame is not needed to know that it ended
			}
			if end > cut {
				break
			}
			start = ends[i]
			got, err := next()
			if want.bad {
				bad, ok := errors.AsType[*ObjectError](err)
				require.True(rt, ok, "%v", err)
				require.Equal(rt, want.ev.Type, bad.Type)
				require.Equal(rt, want.key, bad.Key)
				require.Equal(rt, want.ev.ResourceVersion, bad.ResourceVersion)
				continue
			}
			require.NoError(rt, err)
			require.Equal(rt, want.ev, got)
		}
		_, err = next()
		if cut <= start {
			require.Equal(rt, io.EOF, err)
		} else {
			require.ErrorIs(rt, err, io.ErrUnexpectedEOF)
		}
		_, again := next()
		require.Equal(rt, err, again)
	})
}
