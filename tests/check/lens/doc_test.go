// Package lens drives the lens in a real browser: Chromium, headless. Each test has a lens of its own on a socket,
// and a window of its own. It waits for conditions of the page, never for time.
//
//	go test -C tests/check ./lens                             needs Chromium: apt-get install -y chromium
//	go test -C tests/check ./lens -run Lessons -lens.show     with a window that can be seen
//	go test -C tests/check ./lens -run Pictures -update       writes the pictures of the README anew
//	go test -C tests/check ./lens -run TestExport_Is -update  writes the example of an exported session anew
//
// A test fails if the page writes an error to the console or breaks its Content-Security-Policy.
package lens
