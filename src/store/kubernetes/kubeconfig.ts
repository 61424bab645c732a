/**
 * kubeconfig files, as far as a daemon and a person at a terminal need them: tokens, token files, client certificates,
 * passwords and exec plugins. What is not supported is refused by name, not ignored.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { errorText } from '../../api/error-text.ts';
import { reasonOfPath } from '../../api/without-errno.ts';
import type { Clock } from '../clock.ts';
import { isJsonObject, type Json, type JsonObject } from '../json.ts';
import {
  WatchedFile,
  type Credentials,
  type KubernetesConnection,
  type TlsIdentity,
} from './kubernetes-connection.ts';
import { StoreError } from '../store.ts';

export interface KubeconfigOptions {
  /** Files in order of precedence, as in `$KUBECONFIG`. */
  readonly files: readonly string[];
  /** Default: the file's current-context. */
  readonly context?: string;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** One named entry, with the folder that relative paths in it start from. */
interface Entry {
  readonly content: JsonObject;
  readonly folder: string;
  /** `users[admin] of /root/.kube/config`, for messages. */
  readonly where: string;
}

const refuse = (where: string, what: string): StoreError =>
  new StoreError('not-supported', `${where}: ${what}`);

class Fields {
  readonly #entry: Entry;

  constructor(entry: Entry) {
    this.#entry = entry;
  }

  get where(): string {
    return this.#entry.where;
  }

  text(field: string): string | undefined {
    const value = this.#entry.content[field];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    throw new StoreError('invalid', `${this.where}: ${field}: must be a string`);
  }

  flag(field: string): boolean {
    const value = this.#entry.content[field] ?? false;
    if (typeof value === 'boolean') return value;
    throw new StoreError('invalid', `${this.where}: ${field}: must be true or false`);
  }

  object(field: string): JsonObject | undefined {
    const value = this.#entry.content[field];
    if (value === undefined || value === null) return undefined;
    if (isJsonObject(value)) return value;
    throw new StoreError('invalid', `${this.where}: ${field}: must be a map`);
  }

  path(field: string): string | undefined {
    const value = this.text(field);
    return value === undefined || isAbsolute(value) ? value : join(this.#entry.folder, value);
  }

  /** PEM text that is given inline (`<field>-data`, base64) or in a file, which is read again when it changed. */
  pem(field: string): (() => Promise<string>) | undefined {
    const data = this.text(`${field}-data`);
    if (data !== undefined) {
      const text = Buffer.from(data, 'base64').toString('utf8');
      if (!text.includes('-----BEGIN '))
        throw new StoreError('invalid', `${this.where}: ${field}-data: is not PEM in base64`);
      return () => Promise.resolve(text);
    }
    const path = this.path(field);
    return path === undefined ? undefined : fileText(path, `${this.where}: ${field}`);
  }

  refuse(field: string, remedy: string): void {
    if (this.#entry.content[field] !== undefined)
      throw refuse(this.where, `${field}: is not supported; ${remedy}`);
  }
}

function fileText(path: string, where: string): () => Promise<string> {
  const file = new WatchedFile(path);
  return async () => {
    try {
      return await file.text();
    } catch (error) {
      throw new StoreError('unavailable', `${where}: ${String(error)}`, { cause: error });
    }
  };
}

async function readEntries(files: readonly string[]): Promise<{
  named: (list: string, singular: string, name: string) => Entry;
  currentContext: string | undefined;
}> {
  const documents: { readonly file: string; readonly content: JsonObject }[] = [];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      // As in kubectl: of several files some may be missing.
      if (files.length > 1) return undefined;
      throw new StoreError(
        'unavailable',
        `kubeconfig ${file} can't be read: ${reasonOfPath(error)}`,
        { cause: error },
      );
    });
    if (text === undefined) continue;
    const content = parseYaml(file, text);
    if (!isJsonObject(content)) throw new StoreError('invalid', `kubeconfig ${file}: is not a map`);
    documents.push({ file, content });
  }
  const named = (list: string, singular: string, name: string): Entry => {
    for (const { file, content } of documents) {
      const entries = content[list];
      const found = (Array.isArray(entries) ? (entries as readonly Json[]) : []).find(
        (entry) => isJsonObject(entry) && entry['name'] === name,
      );
      const inner = isJsonObject(found) ? found[singular] : undefined;
      if (isJsonObject(inner))
        return {
          content: inner,
          folder: dirname(resolve(file)),
          where: `kubeconfig ${file}: ${list}[${name}]`,
        };
    }
    const text = JSON.stringify(name);
    throw new StoreError('invalid', `kubeconfig ${files.join(':')}: ${list}: there is no ${text}`);
  };
  const currentContext = documents
    .map(({ content }) => content['current-context'])
    .find((value) => typeof value === 'string' && value !== '');
  return { named, currentContext: currentContext as string | undefined };
}

function parseYaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new StoreError(
      'invalid',
      `kubeconfig ${file}: not valid YAML: ${(errorText(error).split('\n')[0] ?? '').replace(/:$/, '')}`,
      {
        cause: error,
      },
    );
  }
}

/** The connection that a context of kubeconfig files describes; credentials are those that the files have when they are asked for. */
export async function kubeconfigConnection(
  options: KubeconfigOptions,
): Promise<KubernetesConnection> {
  const files = options.files.map((path) => new WatchedFile(path));
  // As in kubectl: of several files some may be missing.
  const texts = async (): Promise<string> =>
    JSON.stringify(await Promise.all(files.map((file) => file.text().catch(() => undefined))));
  let read = await texts();
  let known = await connectionNow(options);
  const { server, namespace, source } = known;
  return {
    server,
    namespace,
    source,
    async credentials(how) {
      const text = await texts();
      if (text !== read) {
        // A file that is gone, or half written, takes away nothing; and what is for another server does not go to this one.
        const again = await connectionNow(options).catch(() => undefined);
        if (again?.server === server) [known, read] = [again, text];
      }
      return known.credentials(how);
    },
  };
}

async function connectionNow(options: KubeconfigOptions): Promise<KubernetesConnection> {
  const { named, currentContext } = await readEntries(options.files);
  const contextName = options.context ?? currentContext;
  if (contextName === undefined)
    throw new StoreError(
      'invalid',
      `kubeconfig ${options.files.join(':')}: current-context: is not set; name a context`,
    );
  const context = new Fields(named('contexts', 'context', contextName));
  const cluster = new Fields(named('clusters', 'cluster', context.text('cluster') ?? ''));
  const userName = context.text('user');
  const user = new Fields(
    userName === undefined
      ? { content: {}, folder: '.', where: `${context.where}: user` }
      : named('users', 'user', userName),
  );
  const server = cluster.text('server');
  if (server === undefined || !/^https?:\/\/[^/]/.test(server))
    throw new StoreError('invalid', `${cluster.where}: server: must be an http or https URL`);
  cluster.refuse('proxy-url', 'reach the API server without a proxy');
  const ca = cluster.pem('certificate-authority');
  const serverName = cluster.text('tls-server-name');
  const authenticate = authenticator(user, options);
  return {
    server: server.replace(/\/+$/, ''),
    namespace: context.text('namespace'),
    source: `context ${contextName} of ${options.files.join(':')}`,
    async credentials({ refused }) {
      const { authorization, tls } = await authenticate(refused);
      return {
        ...(authorization === undefined ? {} : { authorization }),
        tls: {
          ...tls,
          ...(ca === undefined ? {} : { ca: await ca() }),
          ...(serverName === undefined ? {} : { serverName }),
          skipVerification: cluster.flag('insecure-skip-tls-verify'),
        },
      };
    },
  };
}

type Authenticate = (refused: boolean) => Promise<Credentials>;

function authenticator(user: Fields, options: KubeconfigOptions): Authenticate {
  user.refuse('auth-provider', 'use an exec plugin, a token or a client certificate');
  for (const field of ['as', 'as-uid', 'as-groups', 'as-user-extra'])
    user.refuse(field, 'use the credentials of that user');
  const exec = user.object('exec');
  if (exec !== undefined) return execAuthenticator(exec, `${user.where}: exec`, options);
  const certificate = user.pem('client-certificate');
  const key = user.pem('client-key');
  if ((certificate === undefined) !== (key === undefined))
    throw new StoreError(
      'invalid',
      `${user.where}: client-certificate and client-key: one is there without the other`,
    );
  const tokenFile = user.path('tokenFile');
  const token = user.text('token');
  const bearer =
    tokenFile !== undefined
      ? fileText(tokenFile, `${user.where}: tokenFile`)
      : token !== undefined
        ? () => Promise.resolve(token)
        : undefined;
  const name = user.text('username');
  const basic =
    name === undefined
      ? undefined
      : Buffer.from(`${name}:${user.text('password') ?? ''}`).toString('base64');
  return async () => {
    const tls: TlsIdentity =
      certificate === undefined || key === undefined
        ? {}
        : { certificate: await certificate(), key: await key() };
    if (bearer !== undefined) return { authorization: `Bearer ${(await bearer()).trim()}`, tls };
    return basic === undefined ? { tls } : { authorization: `Basic ${basic}`, tls };
  };
}

const EXEC_LIMIT = 60_000;
const EXEC_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
/** Renewed this long before they expire, so that no request is sent with dead ones. */
const EXPIRY_MARGIN = 10_000;

function execAuthenticator(
  exec: JsonObject,
  where: string,
  { clock, environment }: KubeconfigOptions,
): Authenticate {
  const fields = new Fields({ content: exec, folder: '.', where });
  const command = fields.text('command');
  const apiVersion = fields.text('apiVersion') ?? '';
  if (command === undefined) throw new StoreError('invalid', `${where}: command: is missing`);
  if (!EXEC_VERSIONS.includes(apiVersion))
    throw refuse(where, `apiVersion: ${apiVersion || 'none'}: use ${EXEC_VERSIONS.join(' or ')}`);
  if (fields.text('interactiveMode') === 'Always')
    throw refuse(where, 'interactiveMode: Always: a plugin that needs a terminal can not be used');
  if (fields.flag('provideClusterInfo'))
    throw refuse(where, 'provideClusterInfo: is not supported; configure the plugin itself');
  const list = exec['args'];
  const args = Array.isArray(list) ? (list as readonly Json[]).map(String) : [];
  const given = exec['env'];
  const variables = (Array.isArray(given) ? (given as readonly Json[]) : []).flatMap((item) =>
    isJsonObject(item) ? [variableOf(new Fields({ content: item, folder: '.', where }))] : [],
  );
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  let cached: { readonly credentials: Credentials; readonly expires: number } | undefined;
  return async (refused) => {
    if (!refused && cached !== undefined && clock.now() < cached.expires - EXPIRY_MARGIN)
      return cached.credentials;
    const { stdout } = await promisify(execFile)(command, args, {
      env: { ...environment, ...Object.fromEntries(variables), KUBERNETES_EXEC_INFO: info },
      timeout: EXEC_LIMIT,
      maxBuffer: 1024 * 1024,
    }).catch((error: unknown) => {
      const hint = fields.text('installHint');
      throw new StoreError(
        'unavailable',
        `${where}: ${command}: ${String(error)}${hint === undefined ? '' : `; ${hint}`}`,
        { cause: error },
      );
    });
    cached = parseExecCredential(stdout, `${where}: ${command}`);
    return cached.credentials;
  };
}

const variableOf = (item: Fields): readonly [string, string] => {
  const name = item.text('name');
  if (name === undefined) throw new StoreError('invalid', `${item.where}: env: name is missing`);
  return [name, item.text('value') ?? ''];
};

function parseExecCredential(
  text: string,
  where: string,
): { readonly credentials: Credentials; readonly expires: number } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new StoreError('invalid', `${where}: printed no JSON`, { cause: error });
  }
  const status = isJsonObject(value) ? value['status'] : undefined;
  const content = isJsonObject(status) ? status : {};
  const fields = new Fields({ content, folder: '.', where: `${where}: status` });
  const token = fields.text('token');
  const certificate = fields.text('clientCertificateData');
  const key = fields.text('clientKeyData');
  if (token === undefined && (certificate === undefined || key === undefined))
    throw new StoreError('invalid', `${where}: printed neither a token nor a certificate and key`);
  const expires = Date.parse(fields.text('expirationTimestamp') ?? '');
  return {
    credentials: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      tls: certificate === undefined || key === undefined ? {} : { certificate, key },
    },
    expires: Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires,
  };
}
