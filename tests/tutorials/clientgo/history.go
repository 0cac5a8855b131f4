package clientgo

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/tests/tutorials/play"
)

// History asks how far back a watch can begin. The API server lets etcd compact every five minutes, up to the revision of the compaction
// before: so between five and ten minutes of history are there. What is compacted are old versions, never the newest of an object. A watch
// that runs notices nothing.
//
// Often said: "etcd keeps five minutes". It is five to ten, and a setting (--etcd-compaction-interval). A resourceVersion in a file is for
// minutes, not for days.
//
// Ways: a watch has nothing of cache or workqueue to swap.
func History(p *play.Play) {
	p.CompactEvery(5 * time.Minute)
	maps := p.Client().CoreV1().ConfigMaps("default")
	versions := []string{p.Server().Put("a", "minute 0").ResourceVersion}
	running := play.Must(maps.Watch(p.Context(), metav1.ListOptions{ResourceVersion: versions[0]}))
	defer running.Stop()
	seen := 0
	ask := func(minute int) {
		w := play.Must(maps.Watch(p.Context(), metav1.ListOptions{ResourceVersion: versions[minute]}))
		defer w.Stop()
		answer := "nothing new"
		select {
		case event := <-w.ResultChan():
			answer = fmt.Sprint(event.Type)
			if event.Type == watch.Error {
				answer = string(apierrors.ReasonForError(apierrors.FromObject(event.Object)))
			}
		case <-time.After(time.Second):
		}
		p.Print("%s  from the version of minute %2d: %s", p.Time(), minute, answer)
	}
	for minute := 1; minute <= 12; minute++ {
		p.Pass(time.Minute)
		versions = append(versions, p.Server().Put("a", fmt.Sprint("minute ", minute)).ResourceVersion)
		<-running.ResultChan()
		seen++
		if minute == 4 || minute == 9 {
			ask(0)
		}
	}
	for _, minute := range []int{0, 3, 4, 5, 11, 12} {
		ask(minute)
	}
	p.Print("the watch that has run since minute 0 has seen %d of 12 changes", seen)
	p.Print("the object: %s", play.Must(maps.Get(p.Context(), "a", metav1.GetOptions{})).Data["value"])
}
