package desired

import (
	"cmp"
	"crypto/rand"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// Names that are the same for every CloudManager.
const (
	ClaimTemplate, DataPath  = "datadir", "/var/lib/mysql"
	PasswordEnv, PasswordKey = "MARIADB_ROOT_PASSWORD", "password" // in the container, and in the Secret
	PortName, DatabasePort   = "mysql", 3306
	ManagedBy                = "cloudmanager"
	LabelName, LabelInstance = "app.kubernetes.io/name", "app.kubernetes.io/instance"
	LabelManagedBy           = "app.kubernetes.io/managed-by"
)

// Object is any child. It is what controller-runtime calls client.Object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Example is the CloudManager of demos and tests.
func Example(name string) *v1.CloudManager {
	cm := &v1.CloudManager{ObjectMeta: metav1.ObjectMeta{Name: name}}
	cm.Spec.Front.Deployment = v1.Workload{Name: "ake-front", Image: "nginx:1.20"}
	cm.Spec.Identity.Deployment = v1.Workload{Name: "cm-identity", Image: "busybox:1.32.1"}
	cm.Spec.DB.StatefulSet = v1.StatefulWorkload{Name: "cm-db", Image: "mariadb:10.6"}
	cm.Spec.DB.StatefulSet.Storage.Size = resource.MustParse("1Gi")
	return cm
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
		{"Front", []Child{deployment(cm, cm.Spec.Front.Deployment, nil)}},
		{"Identity", []Child{deployment(cm, cm.Spec.Identity.Deployment, []string{"sleep", "60m"})}},
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
		obj.SetLabels(labels.Merge(obj.GetLabels(), labelsOf(cm, name)))
		if _, ok := obj.(*corev1.Secret); obj.GetUID() == "" && !ok {
			obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cm, v1.Kind)})
		}
		set(obj.(T))
	}}
}

// deployment has one container of the same name whatever it runs, so that front and identity can swap their names.
func deployment(cm *v1.CloudManager, w v1.Workload, command []string) Child {
	return child(cm, "deployment", w.Name, &appsv1.Deployment{}, func(d *appsv1.Deployment) {
		if d.UID == "" {
			d.Spec.Selector = selectorOf(cm, w.Name)
		}
		c := podOf(cm, w.Name, "main", &d.Spec.Template)
		c.Image, c.Command = w.Image, command
	})
}

// secret has the password that is in the spec, or one that is made up. It is never made up anew while there is one.
func secret(cm *v1.CloudManager) Child {
	return child(cm, "secret", SecretName(cm.Name), &corev1.Secret{}, func(s *corev1.Secret) {
		password := cmp.Or(cm.Spec.DB.RootPass, string(s.Data[PasswordKey]), rand.Text())
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[PasswordKey] = []byte(password)
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
		port := entry(&s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == PortName })
		port.Name, port.Port = PortName, DatabasePort
	})
}

func statefulSet(cm *v1.CloudManager) Child {
	want := cm.Spec.DB.StatefulSet
	return child(cm, "statefulset", want.Name, &appsv1.StatefulSet{}, func(s *appsv1.StatefulSet) {
		if s.UID == "" { // none of these can change; see Unchangeable
			s.Spec.Selector = selectorOf(cm, want.Name)
			s.Spec.ServiceName = want.Name
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: ClaimTemplate}}
			claim.Spec.StorageClassName, claim.Spec.AccessModes = want.Storage.Class, want.Storage.AccessModes
			claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: want.Storage.Size}
			s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
		}
		const keep = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: keep, WhenScaled: keep}
		c := podOf(cm, want.Name, "db", &s.Spec.Template)
		c.Image = want.Image
		env := entry(&c.Env, func(e corev1.EnvVar) bool { return e.Name == PasswordEnv })
		from := v1.SecretKeyRef{Name: SecretName(cm.Name), Key: PasswordKey}
		if ref := cm.Spec.DB.RootPasswordSecretRef; ref != nil {
			from = *ref
		}
		*env = corev1.EnvVar{Name: PasswordEnv, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: from.Name}, Key: from.Key}}}
		mount := entry(&c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == ClaimTemplate })
		mount.Name, mount.MountPath = ClaimTemplate, DataPath
	})
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
	pod.Labels = labels.Merge(pod.Labels, labelsOf(cm, name))
	c := entry(&pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	c.Name = container
	return c
}

// entry returns the element of the list that is meant, an added one if there is none.
func entry[T any](list *[]T, isMeant func(T) bool) *T {
	i := slices.IndexFunc(*list, isMeant)
	if i < 0 {
		i = len(*list)
		*list = append(*list, *new(T))
	}
	return &(*list)[i]
}
