/** What `kubectl apply -k deploy/` installs, but for the workloads: in a lab the nodes run those themselves. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { namespaces } from '../../api/kinds.ts';
import { objectKey, type KubeObject, type ResourceKind } from '../../api/objects.ts';
import { definitions } from '../../api/validation/catalog.ts';
import { ApiError, type KubernetesClient } from '../../store/kubernetes/kubernetes-client.ts';
import { objectPath } from '../../store/kubernetes/kubernetes-paths.ts';
import { StoreError } from '../../store/store.ts';
import { checkout } from '../paths.ts';
import { awaitSuccess } from './waiting.ts';

const DEPLOY = join(checkout, 'deploy');

export const NODE_ACCOUNT = 'system:serviceaccount:heddle:heddle-node';
export const MANAGER_ACCOUNT = 'system:serviceaccount:heddle:heddle-cluster';

const ofGroup =
  (apiVersion: string, namespaced: boolean) =>
  (kind: string): ResourceKind => {
    const plural = `${kind.toLowerCase().replace(/y$/, 'ie')}s`;
    return { apiVersion, kind, plural, namespaced };
  };
const RBAC = 'rbac.authorization.k8s.io/v1';
const ADMISSION = 'admissionregistration.k8s.io/v1';

/** Kinds of what is installed, beside the definitions. */
const RULES: readonly ResourceKind[] = [
  namespaces,
  ofGroup('v1', true)('ServiceAccount'),
  ...['ClusterRole', 'ClusterRoleBinding'].map(ofGroup(RBAC, false)),
  ...['Role', 'RoleBinding'].map(ofGroup(RBAC, true)),
  ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].map(
    ofGroup(ADMISSION, false),
  ),
];
const DEFINITIONS = ofGroup('apiextensions.k8s.io/v1', false)('CustomResourceDefinition');

/** All objects in the files of deploy/. */
export const deployedObjects = (): readonly KubeObject[] =>
  readdirSync(DEPLOY)
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .sort()
    .flatMap((file) => parseAllDocuments(readFileSync(join(DEPLOY, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject);

/** As `kubectl apply --server-side --force-conflicts`. */
export async function applyObject(
  client: KubernetesClient,
  kind: ResourceKind,
  object: KubeObject,
): Promise<void> {
  const key = objectKey(object.metadata);
  await client.send({
    method: 'PATCH',
    path: objectPath(kind, key),
    query: { fieldManager: 'heddle-lab', force: 'true', fieldValidation: 'Strict' },
    contentType: 'application/apply-patch+yaml',
    body: object,
    about: `${kind.kind} ${key}`,
  });
}

/** Installs the definitions, and waits until they are served. */
export async function installDefinitions(client: KubernetesClient): Promise<void> {
  for (const definition of definitions)
    await applyObject(client, DEFINITIONS, definition as unknown as KubeObject);
  for (const { spec } of definitions)
    for (const { name: version } of spec.versions)
      await awaitSuccess(`${spec.names.plural} of ${spec.group}/${version} to be served`, () =>
        expectServed(client, `/apis/${spec.group}/${version}`, spec.names.plural),
      );
}

/** By what the server says of itself: a list may need a cluster manager, to convert. */
async function expectServed(client: KubernetesClient, path: string, plural: string): Promise<void> {
  const { resources } = await client.send({ method: 'GET', path, about: path });
  if (!(resources as { name: string }[]).some(({ name }) => name === plural))
    throw new StoreError('unavailable', `${path} has no ${plural}`);
}

/** Installs namespace, roles and admission policies, and waits until they are in force for who has that token. */
export async function installRules(
  client: KubernetesClient,
  asNode: KubernetesClient,
): Promise<void> {
  const objects = deployedObjects();
  // In the order of the kinds: what others name comes first.
  for (const kind of RULES)
    for (const object of objects)
      if (object.kind === kind.kind) await applyObject(client, kind, object);
  await awaitSuccess('roles and policies of deploy/ to be in force', () => expectRules(asNode));
}

/** The server takes them up by watching itself, in the order of their creation: this asks for the last role, and the last policy. */
async function expectRules(asNode: KubernetesClient): Promise<void> {
  const kind = 'ZoneStatus';
  const body = { apiVersion: 'k8s.ovn.org/v1alpha1', kind, metadata: { name: 'n' } };
  try {
    await asNode.send({
      method: 'POST',
      path: '/apis/k8s.ovn.org/v1alpha1/zonestatuses',
      query: { dryRun: 'All' },
      body,
      about: kind,
    });
  } catch (error) {
    if (error instanceof ApiError && error.message.includes('the Heddle daemon of node')) return;
    throw error;
  }
  throw new StoreError('unavailable', `a node's daemon may write the ${kind} of another node`);
}
