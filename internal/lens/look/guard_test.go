package look

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testToken = "a-token-for-tests"

type headers = map[string]string

type fixedAddr string

func (fixedAddr) Network() string  { return "tcp" }
func (a fixedAddr) String() string { return string(a) }

// teapot answers what the guard lets through.
var teapot = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })

func TestGuard_LetsInWhoHasTheTokenAndComesFromThisPage(t *testing.T) {
	guard := &Guard{Token: testToken, Address: fixedAddr("127.0.0.1:4000"), Next: teapot}
	for name, c := range map[string]struct {
		method, target string
		header         headers
		code           int
	}{
		"token":               {"GET", "/", nil, 418},
		"cookie":              {"GET", "/", headers{"Authorization": "", "Cookie": "lens-4000=" + testToken}, 418},
		"localhost":           {"GET", "/", headers{"Host": "localhost:4000"}, 418},
		"same origin":         {"POST", "/act/run", headers{"Origin": "http://127.0.0.1:4000"}, 418},
		"typed address":       {"POST", "/act/run", headers{"Sec-Fetch-Site": "none"}, 418},
		"no token":            {"GET", "/", headers{"Authorization": ""}, 401},
		"wrong token":         {"GET", "/stream", headers{"Authorization": "Bearer guess"}, 401},
		"empty token":         {"GET", "/?token=", headers{"Authorization": ""}, 401},
		"cookie of a port":    {"GET", "/", headers{"Authorization": "", "Cookie": "lens-1=" + testToken}, 401},
		"token for no page":   {"POST", "/?token=" + testToken, headers{"Authorization": ""}, 401},
		"rebound name":        {"GET", "/", headers{"Host": "evil.example:4000"}, 403},
		"other port":          {"GET", "/", headers{"Host": "127.0.0.1:4001"}, 403},
		"no port":             {"GET", "/", headers{"Host": "127.0.0.1"}, 403},
		"other origin":        {"POST", "/act/run", headers{"Origin": "http://127.0.0.1:4001"}, 403},
		"other origin reads":  {"GET", "/stream", headers{"Origin": "http://evil.example"}, 403},
		"null origin":         {"POST", "/act/run", headers{"Origin": "null"}, 403},
		"origin of other TLS": {"POST", "/act/run", headers{"Origin": "https://127.0.0.1:4000"}, 403},
		"other site":          {"POST", "/act/run", headers{"Sec-Fetch-Site": "cross-site"}, 403},
		"form":                {"POST", "/act/run", headers{"Content-Type": "text/plain"}, 415},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.target, nil)
			r.Host = "127.0.0.1:4000"
			r.Header.Set("Authorization", "Bearer "+testToken)
			r.Header.Set("Content-Type", "application/json")
			for key, value := range c.header {
				if r.Header.Set(key, value); key == "Host" {
					r.Host = value
				}
			}
			w := httptest.NewRecorder()
			guard.ServeHTTP(w, r)
			assert.Equal(t, c.code, w.Code, w.Body)
			assert.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self';")
			assert.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
		})
	}
}

func TestGuard_WithTLSTheCertificatesNamesAreTheHosts(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS() // its certificate is for example.com
	defer server.Close()
	guard := &Guard{Token: testToken, Address: fixedAddr("[::]:443"), Certificate: server.Certificate(), Next: teapot}
	for _, c := range []struct {
		host, origin string
		code         int
	}{
		{"example.com:443", "https://example.com:443", 418},
		{"example.com", "https://example.com", 418},
		{"example.com", "http://example.com", 403},
		{"example.com:80", "", 403},
		{"evil.example", "", 403},
		{"localhost", "", 403},
	} {
		r := httptest.NewRequest("POST", "/act/run", nil)
		r.Host = c.host
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Header.Set("Content-Type", "application/json")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		assert.Equal(t, c.code, w.Code, "%v: %s", c, w.Body)
	}
}

func TestGuard_PrintedAddressSetsACookieAndHidesTheToken(t *testing.T) {
	guard := &Guard{Token: testToken, Address: fixedAddr("127.0.0.1:4000")}
	r := httptest.NewRequest("GET", "/?token="+testToken, nil)
	r.Host = "127.0.0.1:4000"
	w := httptest.NewRecorder()
	guard.ServeHTTP(w, r)
	assert.Equal(t, 303, w.Code)
	assert.Equal(t, "/", w.Header().Get("Location"))
	require.Len(t, w.Result().Cookies(), 1)
	cookie := w.Result().Cookies()[0]
	assert.Equal(t, "lens-4000", cookie.Name)
	assert.True(t, cookie.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
}
