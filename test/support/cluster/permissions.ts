import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../src/api/objects.ts';
import {
  installRules as installRulesAs,
  NODE_ACCOUNT,
} from '../../../src/lab/kubernetes/deployment.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { kubeconfigConnection } from '../../../src/store/kubernetes/kubeconfig.ts';
import { KubernetesClient } from '../../../src/store/kubernetes/kubernetes-client.ts';
import type { KubeApi } from './kube-api.ts';

const DEPLOY = resolve(import.meta.dirname, '../../../deploy');

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Attributes {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly verb: string;
}

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PATCH: 'patch',
  PUT: 'update',
  DELETE: 'delete',
};

/** `GET /api/v1/pods?watch=1` as an API server's authorizer sees it. */
function attributes(line: string): Attributes {
  const [method = '', target = ''] = line.split(' ');
  const url = new URL(target, 'http://api');
  const parts = url.pathname.split('/').slice(1);
  const isCore = parts[0] === 'api';
  const below = parts.slice(isCore ? 2 : 3);
  const isInNamespace = below[0] === 'namespaces' && below.length > 2;
  const [resource = '', name, subresource] = isInNamespace ? below.slice(2) : below;
  const reading = name !== undefined ? 'get' : url.searchParams.has('watch') ? 'watch' : 'list';
  return {
    group: isCore ? '' : (parts[1] ?? ''),
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace: isInNamespace ? below[1] : undefined,
    name,
    verb: VERBS[method] ?? reading,
  };
}

const allows = (rule: Rule, { group, resource, name, verb }: Attributes): boolean =>
  rule.apiGroups.includes(group) &&
  rule.resources.includes(resource) &&
  rule.verbs.includes(verb) &&
  (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)));

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
}

/** Where objects of its kind are, in its namespace. */
export function objectPath({ apiVersion, kind, metadata }: KubeObject): string {
  const plural = `${kind.toLowerCase().replace(/y$/, 'ie')}s`;
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${group}${within}/${plural}`;
}

/** Installs the namespace, the roles and the admission policies of deploy/; the definitions have to be there. */
export async function installRules(api: KubeApi): Promise<void> {
  const asNode = await kubeconfigConnection({
    files: [await api.kubeconfigFor(api.url, NODE_ACCOUNT)],
    clock: systemClock,
    environment: process.env,
  });
  const clients = [api.connection, asNode].map((one) => new KubernetesClient(one, 'test'));
  const [admin, node] = clients as [KubernetesClient, KubernetesClient];
  await installRulesAs(admin, node);
  for (const client of clients) client.close();
}

const rolesIn = (file: string): readonly Role[] =>
  parseAllDocuments(readFileSync(resolve(DEPLOY, file), 'utf8'))
    .map((document) => document.toJS() as Role)
    .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');

const concerns = ({ kind, metadata }: Role, request: Attributes): boolean =>
  kind === 'ClusterRole' || metadata.namespace === request.namespace;

/** What the roles in a file of deploy/ allow and none of `requests` needed, as `verb group/resource`, sorted. */
export function unusedPermissions(requests: readonly string[], file: string): string[] {
  const made = requests.map(attributes);
  const unused = rolesIn(file).flatMap((role) =>
    (role.rules ?? []).flatMap((rule) =>
      rule.apiGroups.flatMap((group) =>
        rule.resources.flatMap((resource) =>
          rule.verbs
            .filter((verb) => {
              const one = { ...rule, apiGroups: [group], resources: [resource], verbs: [verb] };
              return !made.some((request) => concerns(role, request) && allows(one, request));
            })
            .map((verb) => `${verb} ${group}/${resource}`),
        ),
      ),
    ),
  );
  return [...new Set(unused)].sort();
}
