package look

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// policy lets the page load what this server has, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Guard decides who may talk to a lens. PROTOCOL.md has the rules.
type Guard struct {
	Token   string
	Address net.Addr // that is listened on
	// Certificate is the server's, if it talks TLS. Its names are then the hosts that are allowed.
	Certificate *x509.Certificate
	Next        http.Handler
}

// plain characters need no escapes, wherever the token stands.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// minToken is how many bytes a token from a file must have.
const minToken = 16

// ReadToken reads one from a file.
func ReadToken(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken {
		return "", fmt.Errorf("%s: want at least %d characters, got %d", file, minToken, len(token))
	}
	if strings.Trim(token, plain) != "" {
		return "", fmt.Errorf("%s: want letters, digits, - and _ only, for the token stands in an address and a cookie", file)
	}
	return token, nil
}

// ForPrograms lets in who sends the token as a bearer, which no browser does by itself.
func ForPrograms(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !isToken(got, token) {
			http.Error(w, "401: want the token as a bearer", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	switch {
	case !g.isHost(r.Host):
		http.Error(w, "403: this is not the host that is listened on", http.StatusForbidden)
	case !g.isSameOrigin(r):
		http.Error(w, "403: the request comes from another site", http.StatusForbidden)
	case r.Method == http.MethodGet && r.URL.Path == "/" && isToken(r.URL.Query().Get("token"), g.Token):
		http.SetCookie(w, &http.Cookie{
			Name: g.cookie(), Value: g.Token, Path: "/", HttpOnly: true, Secure: g.Certificate != nil,
			SameSite: http.SameSiteStrictMode,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case !g.isKnown(r):
		http.Error(w, "401: open the address that was printed, with its token", http.StatusUnauthorized)
	case r.Method == http.MethodPost && r.URL.Path != "/" && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		http.Error(w, "415: want application/json", http.StatusUnsupportedMediaType)
	default:
		g.Next.ServeHTTP(w, r)
	}
}

func (g *Guard) port() string {
	_, port, _ := net.SplitHostPort(g.Address.String())
	return port
}

// cookie has the port in its name, for browsers send cookies to all ports of a host.
func (g *Guard) cookie() string { return "lens-" + g.port() }

// isHost keeps out names that somebody else's DNS resolves to this address.
func (g *Guard) isHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, map[bool]string{false: "80", true: "443"}[g.Certificate != nil]
	}
	switch {
	case port != g.port():
		return false
	case g.Certificate != nil:
		return g.Certificate.VerifyHostname(name) == nil
	default:
		return host == g.Address.String() || strings.EqualFold(name, "localhost")
	}
}

// isSameOrigin asks Origin of reads as well: net/http's own check is for those that change something.
func (g *Guard) isSameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	scheme := map[bool]string{false: "http://", true: "https://"}[g.Certificate != nil]
	return (origin == "" || origin == scheme+r.Host) && new(http.CrossOriginProtection).Check(r) == nil
}

func (g *Guard) isKnown(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return isToken(token, g.Token)
	}
	cookie, err := r.Cookie(g.cookie())
	return err == nil && isToken(cookie.Value, g.Token)
}

// isToken takes as long for a token that is nearly right.
func isToken(token, want string) bool {
	got, hash := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want))
	return want != "" && subtle.ConstantTimeCompare(got[:], hash[:]) == 1
}
