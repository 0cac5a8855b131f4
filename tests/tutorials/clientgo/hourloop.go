package clientgo

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/tests/tutorials/play"
)

// HourLoop watches an hour in a loop around a loop: when the channel closes, it watches again, from the present. Whatever is there then
// comes as ADDED, so it repeats. What went meanwhile is lost without a trace: a is never said to be gone.
//
// Often said: "two loops are enough, if the outer one is fast". Speed does not help: the watch may be away for a minute.
//
// Ways: the loop is the program's own.
func HourLoop(p *play.Play) {
	hour := p.Hour()
	client := hour.Client()
	p.Go(func(ctx context.Context) {
		for ctx.Err() == nil {
			w, err := client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
			if err != nil {
				time.Sleep(time.Second)
				continue
			}
			for event := range w.ResultChan() {
				obj, ok := event.Object.(*corev1.ConfigMap)
				if ok { // not that of an ERROR
					hour.Saw(string(event.Type), obj)
				}
			}
			w.Stop()
		}
	})
	hour.Play()
}
