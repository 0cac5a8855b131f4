// Package install puts glasswatch's informers into client-go's factories.
//
//	factory := informers.NewSharedInformerFactory(client, resync)
//	err := install.Into(factory, install.Options{}, &corev1.Service{}, &corev1.Pod{})
//	factory.Core().V1().Services().Lister() // is client-go's, and reads our store
//
// A factory of client-go keeps the first informer that it gets for a type, of any implementation. It shares, starts,
// waits for and shuts down an installed informer like any other. Types that are not installed keep client-go's
// informers.
//
// # Not guaranteed
//
// A factory does not export its namespace and its tweak of list options. So repeat in [Options] what you passed to
// WithNamespace and WithTweakListOptions. Dynamic and metadata factories always make their informers themselves.
// [NewDynamicFactory] and [NewMetadataFactory] replace them.
package install
