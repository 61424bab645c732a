/** A headless Chromium, by its own protocol over two pipes: it opens no port, and loads nothing but the file. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { bound, ownFolder } from './left-behind.ts';
import { until } from './until.ts';

/** The program; undefined where there is none. */
export const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find((name) => {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

interface Waiting {
  readonly resolve: (result: Readonly<Record<string, unknown>>) => void;
  readonly reject: (error: Error) => void;
}

/** What keys are called in the protocol. */
const KEYS: Readonly<
  Record<string, { readonly code: string; readonly text?: string; readonly number: number }>
> = {
  Tab: { code: 'Tab', number: 9 },
  Enter: { code: 'Enter', text: '\r', number: 13 },
  Escape: { code: 'Escape', number: 27 },
  End: { code: 'End', number: 35 },
  Home: { code: 'Home', number: 36 },
  ArrowLeft: { code: 'ArrowLeft', number: 37 },
  ArrowUp: { code: 'ArrowUp', number: 38 },
  ArrowRight: { code: 'ArrowRight', number: 39 },
  ArrowDown: { code: 'ArrowDown', number: 40 },
  '/': { code: 'Slash', text: '/', number: 191 },
};

export class Browser implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #waiting = new Map<number, Waiting>();
  readonly #requests: Writable;
  #session = '';
  #last = 0;
  /** Addresses that the page asked for besides itself, and what it wrote to its console. */
  readonly asked: string[] = [];
  readonly complaints: string[] = [];

  private constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    this.#requests = child.stdio[3] as Writable;
    let rest = '';
    (child.stdio[4] as Readable).setEncoding('utf8').on('data', (chunk: string) => {
      const messages = (rest + chunk).split('\0');
      rest = messages.pop() ?? '';
      for (const message of messages) this.#take(JSON.parse(message) as Reply);
    });
  }

  static async open(
    url: string,
    { width = 1280, height = 800, isDark = false } = {},
  ): Promise<Browser> {
    const folder = ownFolder('heddle-browser');
    const [command, args] = bound(chromium ?? 'chromium', [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--remote-debugging-pipe',
      `--user-data-dir=${folder}`,
      'about:blank',
    ]);
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    const browser = new Browser(child, folder);
    const { targetInfos } = (await browser.#call('Target.getTargets')) as {
      targetInfos: readonly { readonly targetId: string; readonly type: string }[];
    };
    const page = targetInfos.find(({ type }) => type === 'page');
    const attached = await browser.#call('Target.attachToTarget', {
      targetId: page?.targetId,
      flatten: true,
    });
    browser.#session = String(attached['sessionId']);
    for (const domain of ['Page', 'Network', 'Runtime', 'Log'])
      await browser.#call(`${domain}.enable`);
    await browser.#call('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
    await browser.#call('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: isDark ? 'dark' : 'light' }],
    });
    await browser.#call('Page.navigate', { url });
    await browser.until<boolean>("performance.getEntriesByName('drawn').length === 1");
    return browser;
  }

  /** What an expression is in the page. Rejects with what it throws. */
  async value<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = (await this.#call('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })) as { result: { readonly value: T }; exceptionDetails?: unknown };
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  }

  /** Waits until an expression is true in the page. */
  async until<T>(expression: string, timeout = 20_000): Promise<T> {
    let found: T | undefined;
    await until(
      `${expression} in the page`,
      async () => {
        found = await this.value<T>(expression);
        return found !== undefined && found !== false;
      },
      // A page that is being loaded has nothing to ask yet.
      { limit: timeout, pause: 20, isExpected: () => true },
    );
    return found as T;
  }

  async press(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const { code, text, number } = KEYS[name] ?? { code: '', text: name, number: 0 };
      const key = { key: name, code, windowsVirtualKeyCode: number };
      await this.#call('Input.dispatchKeyEvent', {
        type: text === undefined ? 'rawKeyDown' : 'keyDown',
        ...key,
        ...(text === undefined ? {} : { text }),
      });
      await this.#call('Input.dispatchKeyEvent', { type: 'keyUp', ...key });
    }
  }

  async type(text: string): Promise<void> {
    await this.#call('Input.insertText', { text });
  }

  /** In the middle of the first element that a selector means. */
  async click(selector: string): Promise<void> {
    const { x, y } = await this.value<{ readonly x: number; readonly y: number }>(
      `(() => { const found = document.querySelector(${JSON.stringify(selector)}); found.scrollIntoView({ block: 'nearest' });
        const { x, y, width, height } = found.getBoundingClientRect(); return { x: x + width / 2, y: y + height / 2 }; })()`,
    );
    const mouse = { x, y, button: 'left', clickCount: 1 };
    await this.#call('Input.dispatchMouseEvent', { type: 'mousePressed', ...mouse });
    await this.#call('Input.dispatchMouseEvent', { type: 'mouseReleased', ...mouse });
  }

  async screenshot(): Promise<Buffer> {
    const { data } = await this.#call('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(String(data), 'base64');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await ended;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #call(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = (this.#last += 1);
    const session = this.#session === '' ? {} : { sessionId: this.#session };
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#requests.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    });
  }

  #take({ id, method, params = {}, result = {}, error }: Reply): void {
    if (id !== undefined) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error.message));
    } else if (method === 'Network.requestWillBeSent') {
      const { url } = params['request'] as { readonly url: string };
      if (!url.startsWith('data:')) this.asked.push(url);
    } else if (method === 'Runtime.exceptionThrown' || method === 'Log.entryAdded')
      this.complaints.push(JSON.stringify(params));
  }
}
