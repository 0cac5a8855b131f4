package passon

import (
	"net/http"
	"time"
)

const writeTimeout = 10 * time.Second // for one part of a stream: a caller that does not read for so long is cut off

// IsStream reports whether the answer to r has no end.
func IsStream(r *http.Request) bool {
	asked := r.URL.Query().Get("watch") + r.URL.Query().Get("follow")
	return asked != "" && asked != "0" && asked != "false" || r.Header.Get("Upgrade") != ""
}

// Stream lifts the server's time limits from a stream, and returns a writer with a limit for each part of it. Call it
// after the caller is admitted: a stranger's connection must not stay open. What is no stream stays as it is.
func Stream(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if !IsStream(r) || r.Header.Get("Upgrade") != "" { // an upgrade takes the connection over, and its limits off
		return w
	}
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Time{}) // the only error is that the connection has none
	if r.ContentLength == 0 {
		_ = conn.SetReadDeadline(time.Time{}) // its end would look like the caller's going away
	}
	return stream{w, conn}
}

// stream has a time limit for each write, and none between two: HTTP/2 would end an idle stream.
type stream struct {
	http.ResponseWriter
	conn *http.ResponseController
}

// Unwrap lets http.ResponseController find the connection.
func (s stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements http.ResponseWriter.
func (s stream) Write(part []byte) (int, error) {
	defer s.limit()()
	return s.ResponseWriter.Write(part)
}

// FlushError is what http.ResponseController calls.
func (s stream) FlushError() error {
	defer s.limit()()
	return s.conn.Flush()
}

func (s stream) limit() (lift func()) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return func() { _ = s.conn.SetWriteDeadline(time.Time{}) }
}
