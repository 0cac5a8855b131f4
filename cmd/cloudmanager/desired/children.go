package desired

import (
	"crypto/rand"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// Names that are the same for every CloudManager.
const (
	ClaimTemplate  = "datadir"
	DataPath       = "/var/lib/mysql"
	PasswordEnv    = "MARIADB_ROOT_PASSWORD"
	PasswordKey    = "password" // in the Secret <name>auth
	DatabasePort   = 3306
	ManagedBy      = "cloudmanager"
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	secretSuffix   = "auth"
)

// Object is any child. It is what controller-runtime calls client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Child is one object that a CloudManager asks for.
type Child struct {
	Kind   string           // as Events name it: deployment, secret, service or statefulset
	Object Object           // has the namespace and the name, and nothing else; a copy for whoever asks
	Set    func(obj Object) // sets the owned fields of an object of this kind; with an empty UID also those of a create
}

// Stage is a group of children that are made together.
type Stage struct {
	Name     string // Front, Identity, Secret or Database
	Children []Child
}

// Stages returns the children of cm in the order in which they are made. cm is not changed, and may come from a cache.
func Stages(cm *v1.CloudManager) []Stage {
	stages := []Stage{
		{"Front", []Child{deployment(cm, "front", cm.Spec.Front.Deployment, nil)}},
		{"Identity", []Child{deployment(cm, "identity", cm.Spec.Identity.Deployment, []string{"sleep", "60m"})}},
		{"Secret", []Child{secret(cm)}},
		{"Database", []Child{service(cm), statefulSet(cm)}},
	}
	if cm.Spec.DB.RootPasswordSecretRef != nil {
		return slices.Delete(stages, 2, 3) // the Secret is somebody else's
	}
	return stages
}

// Names returns kind and name of each child, such as deployment/ake-front.
func Names(cm *v1.CloudManager) (names []string) {
	for _, stage := range Stages(cm) {
		for _, c := range stage.Children {
			names = append(names, NameOf(c.Kind, c.Object.GetName()))
		}
	}
	return names
}

// NameOf is the form of Names. What cm controls and is not among its Names is a leftover, as after a rename.
func NameOf(kind, name string) string { return kind + "/" + name }

// SecretName is the name of the Secret that is made for a CloudManager of this name.
func SecretName(name string) string { return name + "auth" }

func child[T Object](cm *v1.CloudManager, kind, name string, empty T, set func(T)) Child {
	empty.SetNamespace(cm.Namespace)
	empty.SetName(name)
	return Child{Kind: kind, Object: empty, Set: func(obj Object) {
		labels := maps.Clone(obj.GetLabels())
		obj.SetLabels(merged(labels, labelsOf(cm, name)))
		if _, ok := obj.(*corev1.Secret); obj.GetUID() == "" && !ok {
			obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cm, v1.Kind)})
		}
		set(obj.(T))
	}}
}

func deployment(cm *v1.CloudManager, container string, w v1.Workload, command []string) Child {
	return child(cm, "deployment", w.Name, &appsv1.Deployment{}, func(d *appsv1.Deployment) {
		if d.UID == "" {
			d.Spec.Selector = selectorOf(cm, w.Name)
		}
		c := podOf(cm, w.Name, container, &d.Spec.Template)
		c.Image, c.Command = w.Image, command
	})
}

// secret has the password that is in the spec, or one that was made up once. It is never made up anew while there is one.
func secret(cm *v1.CloudManager) Child {
	return child(cm, "secret", SecretName(cm.Name), &corev1.Secret{}, func(s *corev1.Secret) {
		password := []byte(cm.Spec.DB.RootPass)
		if len(password) == 0 {
			password = s.Data[PasswordKey]
		}
		if len(password) == 0 {
			password = []byte(rand.Text())
		}
		s.Data = merged(s.Data, map[string][]byte{PasswordKey: password})
	})
}

// service gives each replica of the database a name in DNS.
func service(cm *v1.CloudManager) Child {
	name := cm.Spec.DB.StatefulSet.Name
	return child(cm, "service", name, &corev1.Service{}, func(s *corev1.Service) {
		if s.UID == "" {
			s.Spec.ClusterIP = corev1.ClusterIPNone
		}
		s.Spec.Selector = selectorOf(cm, name).MatchLabels
		port := entry(&s.Spec.Ports, func(p *corev1.ServicePort) bool { return p.Port == DatabasePort })
		port.Name, port.Port = "mysql", DatabasePort
	})
}

func statefulSet(cm *v1.CloudManager) Child {
	want := cm.Spec.DB.StatefulSet
	return child(cm, "statefulset", want.Name, &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
		if s.UID == "" { // none of these can change; see Unchangeable
			s.Spec.Selector = selectorOf(cm, want.Name)
			s.Spec.ServiceName = want.Name
			s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: ClaimTemplate},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: want.Storage.Class,
					AccessModes:      want.Storage.AccessModes,
					Resources: corev1.VolumeResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceStorage: want.Storage.Size},
					},
				},
			}}
		}
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
		c := podOf(cm, want.Name, "db", &s.Spec.Template)
		c.Image = want.Image
		env := entry(&c.Env, func(e *corev1.EnvVar) bool { return e.Name == PasswordEnv })
		*env = corev1.EnvVar{Name: PasswordEnv, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: passwordOf(cm)}}
		mount := entry(&c.VolumeMounts, func(m *corev1.VolumeMount) bool { return m.MountPath == DataPath })
		mount.Name, mount.MountPath = ClaimTemplate, DataPath
	})
}

func passwordOf(cm *v1.CloudManager) *corev1.SecretKeySelector {
	name, key := SecretName(cm.Name), PasswordKey
	if ref := cm.Spec.DB.RootPasswordSecretRef; ref != nil {
		name, key = ref.Name, ref.Key
	}
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
}

func labelsOf(cm *v1.CloudManager, name string) map[string]string {
	return map[string]string{LabelName: name, LabelInstance: cm.Name, LabelManagedBy: ManagedBy}
}

// selectorOf names the child, so that the old and the new child of a rename do not claim each other's Pods.
func selectorOf(cm *v1.CloudManager, name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{LabelName: name, LabelInstance: cm.Name}}
}

// podOf puts the labels on the Pod template and returns its container of that name.
func podOf(cm *v1.CloudManager, name, container string, pod *corev1.PodTemplateSpec) *corev1.Container {
	pod.Labels = merged(pod.Labels, labelsOf(cm, name))
	c := entry(&pod.Spec.Containers, func(c *corev1.Container) bool { return c.Name == container })
	c.Name = container
	return c
}

// entry returns the element of the list that is meant, an added one if there is none.
func entry[T any](list *[]T, isMeant func(*T) bool) *T {
	for i := range *list {
		if isMeant(&(*list)[i]) {
			return &(*list)[i]
		}
	}
	*list = append(*list, *new(T))
	return &(*list)[len(*list)-1]
}

func merged[M ~map[string]V, V any](into, from M) M {
	if into == nil {
		into = M{}
	}
	maps.Copy(into, from)
	return into
}
