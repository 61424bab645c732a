import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

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

const rolesIn = (file: string): readonly Role[] =>
  parseAllDocuments(readFileSync(resolve(import.meta.dirname, '../../deploy', file), 'utf8'))
    .map((document) => document.toJS() as Role)
    .filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');

const concerns = ({ kind, metadata }: Role, request: Attributes): boolean =>
  kind === 'ClusterRole' || metadata.namespace === request.namespace;

/** Which of `requests` (`METHOD path?query`) the roles in a file of deploy/ don't allow, each once. */
export function refusedRequests(requests: readonly string[], file: string): string[] {
  const roles = rolesIn(file);
  const isAllowed = (request: Attributes): boolean =>
    roles.some(
      (role) => concerns(role, request) && role.rules?.some((rule) => allows(rule, request)),
    );
  const refused = requests.map(attributes).filter((request) => !isAllowed(request));
  return [
    ...new Set(
      refused.map(
        ({ verb, group, resource, namespace = '', name = '' }) =>
          `${verb} ${group}/${resource} ${namespace}/${name}`,
      ),
    ),
  ];
}

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
