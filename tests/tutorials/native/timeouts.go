package native

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
	"glasswatch/tests/tutorials/play"
)

// Timeouts does what its namesake does with a listwatch.Client.
func Timeouts(p *play.Play) {
	ask := func(what string, config *rest.Config) {
		client := play.Must(listwatch.NewForConfig[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
			listwatch.Options{Namespace: "default"}))
		ctx, cancel := context.WithTimeout(p.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		list, err := client.List(ctx, metav1.ListOptions{})
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
