/** Who may read metrics: the API server is asked who a bearer token is (TokenReview), and whether he may `get` /metrics (SubjectAccessReview). */
import { createHash } from 'node:crypto';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from './logger.ts';
import { errorText } from '../api/error-text.ts';

interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}
const TOKEN_REVIEWS: ResourceKind<TokenReview> = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
};

interface AccessReview extends KubeObject {
  readonly status?: { readonly allowed?: boolean };
}
const ACCESS_REVIEWS: ResourceKind<AccessReview> = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

/** `busy`: too many tokens that nobody has seen before; `unavailable`: the API server could not be asked. */
export type Verdict = 'allowed' | 'unauthenticated' | 'forbidden' | 'busy' | 'unavailable';

/** Milliseconds for which an answer holds, as long as kube-rbac-proxy and controller-runtime keep theirs or less. */
const ALLOWED_FOR = 60_000;
const REFUSED_FOR = 10_000;
/**
 * Milliseconds for which who was let in is let in while the API server can't be asked. That it can't is what metrics and alerts tell of,
 * and an outage of a night is to be seen until the morning.
 */
const UNASKED_FOR = 24 * 60 * 60 * 1000;
const ANSWER_LIMIT = 5000;
const MOST_KNOWN = 256;
/** Tokens that were let in are asked for at any time; of others so many a second, for anybody can make some up. */
const NEW_PER_SECOND = 10;
const MOST_TRUSTED = 32;

export class MetricsAccess {
  readonly #store: Pick<Store, 'create'>;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #now: () => number;
  /** By the token's digest: tokens are kept nowhere. */
  readonly #known = new Map<string, { verdict: Promise<Verdict>; until: number }>();
  /** By the digest of a token that was let in: when the API server answered so last. */
  readonly #trusted = new Map<string, number>();
  #window = { start: -Infinity, asked: 0 };
  #complaint: string | undefined;

  /** `now`: milliseconds on a monotonic clock. */
  constructor(
    store: Pick<Store, 'create'>,
    log: Pick<Logger, 'warn'>,
    now: () => number = () => performance.now(),
  ) {
    this.#store = store;
    this.#log = log;
    this.#now = now;
  }

  /** Judges an `Authorization` header; never rejects. */
  async judge(authorization: string | undefined): Promise<Verdict> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return 'unauthenticated';
    const now = this.#now();
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined && now < known.until) return known.verdict;
    if (!this.#trusted.has(key) && !this.#mayAsk(now)) return 'busy';
    const entry = { verdict: this.#review(token), until: now + ANSWER_LIMIT };
    this.#known.delete(key);
    this.#known.set(key, entry);
    keepNewest(this.#known, MOST_KNOWN);
    const verdict = await entry.verdict;
    if (verdict === 'unavailable') {
      const letIn = this.#trusted.get(key);
      if (letIn === undefined || now - letIn >= UNASKED_FOR) {
        this.#known.delete(key);
        return verdict;
      }
      entry.verdict = Promise.resolve('allowed');
      entry.until = now + REFUSED_FOR;
      return 'allowed';
    }
    this.#trusted.delete(key);
    if (verdict === 'allowed') {
      this.#trusted.set(key, now);
      keepNewest(this.#trusted, MOST_TRUSTED);
    }
    entry.until = now + (verdict === 'allowed' ? ALLOWED_FOR : REFUSED_FOR);
    return verdict;
  }

  #mayAsk(now: number): boolean {
    if (now - this.#window.start >= 1000) this.#window = { start: now, asked: 0 };
    this.#window.asked += 1;
    return this.#window.asked <= NEW_PER_SECOND;
  }

  async #review(token: string): Promise<Verdict> {
    const write = { fieldManager: 'heddle', signal: AbortSignal.timeout(ANSWER_LIMIT) };
    const store = this.#store;
    try {
      const { status } = await store.create(
        TOKEN_REVIEWS,
        { ...named(TOKEN_REVIEWS), spec: { token } },
        write,
      );
      const { username = '', uid, groups, extra } = status?.user ?? {};
      if (status?.authenticated !== true || username === '') return 'unauthenticated';
      const access = await store.create(
        ACCESS_REVIEWS,
        {
          ...named(ACCESS_REVIEWS),
          spec: {
            user: username,
            uid,
            groups,
            extra,
            nonResourceAttributes: { path: '/metrics', verb: 'get' },
          },
        },
        write,
      );
      this.#complaint = undefined;
      return access.status?.allowed === true ? 'allowed' : 'forbidden';
    } catch (error) {
      const complaint = errorText(error);
      if (complaint !== this.#complaint)
        this.#log.warn({ component: 'metrics', error }, 'who may read metrics could not be asked');
      this.#complaint = complaint;
      return 'unavailable';
    }
  }
}

const named = ({
  apiVersion,
  kind,
}: ResourceKind): Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'> => ({
  apiVersion,
  kind,
  metadata: { name: '' },
});

function keepNewest(kept: Map<string, unknown> | Set<string>, most: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(key);
  }
}
