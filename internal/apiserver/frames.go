package apiserver

import (
	"bytes"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/internal/apiserver/resource"
)

// frameWriter writes watch events in the negotiated encoding. Its methods tell whether the stream is still open.
type frameWriter struct {
	request *request
	w       http.ResponseWriter
	control *http.ResponseController
	framed  io.Writer
	buffer  bytes.Buffer
	columns bool // the columns of the table have been sent
}

func newFrameWriter(r *request, w http.ResponseWriter) *frameWriter {
	f := &frameWriter{request: r, w: w, control: http.NewResponseController(w)}
	f.framed = r.format.info.StreamSerializer.Framer.NewFrameWriter(&f.buffer)
	return f
}

func (f *frameWriter) begin() error {
	mediaType := f.request.format.info.MediaType
	if mediaType != runtime.ContentTypeJSON {
		mediaType += ";stream=watch"
	}
	f.w.Header().Set("Content-Type", mediaType)
	f.w.Header().Set("Cache-Control", "no-cache, private")
	f.w.WriteHeader(http.StatusOK)
	return f.control.Flush()
}

func (f *frameWriter) flush() bool { return f.control.Flush() == nil }

// object sends a stored object in the shape the client asked for.
func (f *frameWriter) object(t watch.EventType, obj resource.Object) bool {
	shaped, err := f.shape(obj)
	return err == nil && f.raw(t, shaped)
}

func (f *frameWriter) shape(obj resource.Object) (runtime.Object, error) {
	if f.request.format.as == asTable {
		first := !f.columns
		f.columns = true
		obj = f.request.served(obj)
		return f.request.tableOf([]resource.Object{obj}, &metav1.ListMeta{ResourceVersion: obj.GetResourceVersion()}, first)
	}
	return f.request.shape(obj)
}

// raw sends an object as it is. The frame goes out in one write.
func (f *frameWriter) raw(t watch.EventType, obj runtime.Object) bool {
	hook := f.request.server.options.OnFrame
	if hook != nil && !hook(Frame{f.request.http, t, obj, f.flush}) {
		return true
	}
	info := f.request.format.info
	content, err := runtime.Encode(info.Serializer, obj)
	if err != nil {
		return false
	}
	cut, garble := f.request.server.faults.frame()
	if garble {
		content = garbage(info.MediaType)
	}
	event := &metav1.WatchEvent{Type: string(t), Object: runtime.RawExtension{Raw: content}}
	f.buffer.Reset()
	if err := info.StreamSerializer.Serializer.Encode(event, f.framed); err != nil {
		return false
	}
	frame := f.buffer.Bytes()
	if cut {
		_, _ = f.w.Write(frame[:len(frame)/2])
		f.flush()
		panic(http.ErrAbortHandler)
	}
	_, err = f.w.Write(frame)
	return err == nil
}

// garbage fills a frame in a way that leaves the framing intact.
func garbage(mediaType string) []byte {
	if mediaType == runtime.ContentTypeJSON {
		return []byte(`{"apiVersion":7,"kind":["garbage"]}`)
	}
	return []byte("garbage")
}
