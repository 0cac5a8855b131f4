package clientgo

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/tests/tutorials/play"
)

// Timeouts asks four servers for a list, and refutes one guess about the default time-out after the other. There is none: a request
// takes as long as its server. What ended sooner was an error of another kind.
//
// Often said: "the default is two seconds" (or ten). Windows tries a refused connection for about two seconds, and a TLS handshake
// may take ten. Neither bounds a request.
//
// Ways: a client has nothing of cache or workqueue to swap.
func Timeouts(p *play.Play) {
	ask := func(what string, config *rest.Config) {
		client := kubernetes.NewForConfigOrDie(config)
		ctx, cancel := context.WithTimeout(p.Context(), time.Hour) // the program's patience, not the client's
		defer cancel()
		began := time.Now()
		list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			p.Print("  %s, after %s: %s", what, time.Since(began), play.Ended(ctx, err))
			return
		}
		p.Print("  %s, after %s: a list of %d", what, time.Since(began), len(list.Items))
	}
	p.Print("Is there a short default? A server that is down answers at once:")
	ask("refusing", p.Refusing())
	p.Print("That was an answer. Is it ten seconds? A server that accepts and says nothing:")
	ask("mute", p.Mute())
	p.Print("That was the TLS handshake. After it, how long may an answer take?")
	ask("slow, one minute", p.Slow(time.Minute))
	ask("slow, ten minutes", p.Slow(10*time.Minute))
	p.Print("Is there a bound at all? A server that goes on for ever, until the caller's context ends:")
	ask("endless", p.Endless())
	p.Print("With Config.Timeout, which ends watches, too:")
	slow, endless := p.Slow(time.Minute), p.Endless()
	slow.Timeout, endless.Timeout = 10*time.Second, 10*time.Second
	ask("slow, one minute", slow)
	ask("endless", endless)
}
