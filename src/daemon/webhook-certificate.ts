/**
 * The certificate that the API server knows our conversion webhook by: made once, shared by all replicas through a
 * Secret, and published to the API server as `caBundle` of the definitions that convert.
 */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import { isRetryable, StoreError, type Store } from '../store/store.ts';

export interface WebhookIdentity {
  /** PEM; its own authority. */
  readonly certificate: string;
  readonly key: string;
}

interface Secret extends KubeObject {
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}
const SECRETS: ResourceKind<Secret> = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
};

interface Definition extends KubeObject {
  readonly spec: {
    readonly conversion?: {
      readonly webhook?: { readonly clientConfig?: { readonly caBundle?: string } };
    };
  };
}
const DEFINITIONS: ResourceKind<Definition> = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

const FIELD_MANAGER = 'heddle-conversion';
const SECRET_NAME = 'heddle-conversion';
const DAYS = 3650;
/** A certificate that ends sooner than this is replaced. */
const RENEW_BEFORE = 30 * 86_400_000;
const OPENSSL_LIMIT = 30_000;

/** A new key, and a certificate for it that names `host`. */
async function createIdentity(host: string): Promise<WebhookIdentity> {
  const { stdout } = await promisify(execFile)(
    'openssl',
    [
      'req',
      '-x509',
      '-nodes',
      '-newkey=ec',
      '-pkeyopt=ec_paramgen_curve:prime256v1',
      `-days=${DAYS}`,
      '-subj=/CN=heddle conversion webhook',
      `-addext=subjectAltName=${/^[\d.]+$/.test(host) ? 'IP' : 'DNS'}:${host}`,
      '-keyout=-',
      '-out=-',
    ].flatMap(splitOption),
    { timeout: OPENSSL_LIMIT },
  ).catch((error: unknown) => {
    throw new Error(`certificate of the conversion webhook: openssl: ${String(error)}`, {
      cause: error,
    });
  });
  const part = (name: string): string => {
    const found = new RegExp(`-----BEGIN ${name}-----[^-]+-----END ${name}-----\n`).exec(stdout);
    if (found === null)
      throw new Error(`certificate of the conversion webhook: openssl printed no ${name}`);
    return found[0];
  };
  return { certificate: part('CERTIFICATE'), key: part('PRIVATE KEY') };
}

/** openssl wants an option and its value apart. */
const splitOption = (option: string): string[] => {
  const at = option.indexOf('=');
  return at === -1 ? [option] : [option.slice(0, at), option.slice(at + 1)];
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString('utf8');

/** The identity in a Secret, if it is one for `host` that lasts. */
function identityIn(
  secret: Secret | undefined,
  host: string,
  now: number,
): WebhookIdentity | undefined {
  const { 'tls.crt': certificate, 'tls.key': key } = secret?.data ?? {};
  if (certificate === undefined || key === undefined) return undefined;
  try {
    const parsed = new X509Certificate(fromBase64(certificate));
    const names = /^[\d.]+$/.test(host) ? parsed.checkIP(host) : parsed.checkHost(host);
    if (names === undefined || parsed.validToDate.getTime() - now < RENEW_BEFORE) return undefined;
    return { certificate: fromBase64(certificate), key: fromBase64(key) };
  } catch {
    return undefined; // not a certificate: as if there were none
  }
}

/** The identity that all replicas share; made if there is none that lasts. */
export async function sharedIdentity(
  store: Pick<Store, 'get' | 'create' | 'patch'>,
  {
    namespace,
    host,
    now,
  }: { readonly namespace: string; readonly host: string; readonly now: number },
  signal: AbortSignal,
): Promise<WebhookIdentity> {
  const key = `${namespace}/${SECRET_NAME}`;
  for (;;) {
    const secret = await store.get(SECRETS, key, signal);
    const existing = identityIn(secret, host, now);
    if (existing !== undefined) return existing;
    const created = await createIdentity(host);
    const data = { 'tls.crt': base64(created.certificate), 'tls.key': base64(created.key) };
    const write = { fieldManager: FIELD_MANAGER, signal };
    try {
      if (secret === undefined) {
        const metadata = { name: SECRET_NAME, namespace };
        const object = {
          apiVersion: 'v1',
          kind: 'Secret',
          type: 'kubernetes.io/tls',
          metadata,
          data,
        };
        await store.create(SECRETS, object, write);
      } else {
        const { resourceVersion = '' } = secret.metadata;
        await store.patch(SECRETS, key, { data }, { ...write, resourceVersion });
      }
      return created;
    } catch (error) {
      // Another replica created it first: its identity is used.
      const isLate =
        error instanceof StoreError && ['already-exists', 'conflict'].includes(error.code);
      if (!isLate) throw error;
    }
  }
}

/** Tells the API server which certificate to expect where these definitions convert. */
export async function publishAuthority(
  store: Pick<Store, 'get' | 'patch'>,
  definitions: readonly string[],
  certificate: string,
  signal: AbortSignal,
): Promise<void> {
  const caBundle = base64(certificate);
  for (const name of definitions)
    for (let attempt = 1; ; attempt += 1) {
      const definition = await store.get(DEFINITIONS, name, signal);
      const client = definition?.spec.conversion?.webhook?.clientConfig;
      // Not installed, or installed without conversion: nothing to publish.
      if (definition === undefined || client === undefined || client.caBundle === caBundle) break;
      const patch = { spec: { conversion: { webhook: { clientConfig: { caBundle } } } } };
      const { resourceVersion = '' } = definition.metadata;
      try {
        await store.patch(DEFINITIONS, name, patch, {
          fieldManager: FIELD_MANAGER,
          resourceVersion,
          signal,
        });
        break;
      } catch (error) {
        if (!isRetryable(error) || attempt === 5) throw error;
      }
    }
}
