// Package install puts glasswatch's informers into client-go's factories.
//
//	factory := informers.NewSharedInformerFactory(client, resync)
//	err := install.Into(factory, install.Options{}, &corev1.Service{}, &corev1.Pod{})
//	factory.Core().V1().Services().Lister() // is client-go's, and reads our store
//
// A factory of client-go's keeps the first informer that it is given for a type, and asks nobody where it came from. What is
// installed is shared, started, waited for and shut down by the factory like any other; types that are not installed stay
// client-go's.
//
// # Not guaranteed
//
// A factory keeps its namespace and its tweak of list options to itself: who made it with WithNamespace or
// WithTweakListOptions says so again in [Options]. Dynamic and metadata factories make their informers themselves and cannot
// be told otherwise: [NewDynamicFactory] and [NewMetadataFactory] take their places.
package install
