/** A headless Chromium with one page. */
import { execFileSync } from 'node:child_process';
import { chromium as launcher, type Browser as Program, type Page } from 'playwright-core';
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

export class Browser implements AsyncDisposable {
  readonly #program: Program;
  readonly #page: Page;
  /** Addresses that the page asked for, itself included, and what it complained of. */
  readonly asked: string[] = [];
  readonly complaints: string[] = [];

  private constructor(program: Program, page: Page) {
    this.#program = program;
    this.#page = page;
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) this.asked.push(request.url());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(message.text());
    });
  }

  /** Resolves when the page has drawn itself. */
  static async open(
    url: string,
    { width = 1280, height = 800, isDark = false } = {},
  ): Promise<Browser> {
    const path = execFileSync('which', [chromium ?? 'chromium'], { encoding: 'utf8' }).trim();
    const program = await launcher.launch({
      executablePath: path,
      args: ['--disable-gpu', '--disable-dev-shm-usage'],
      chromiumSandbox: false,
    });
    const page = await program.newPage({
      viewport: { width, height },
      colorScheme: isDark ? 'dark' : 'light',
    });
    const browser = new Browser(program, page);
    await page.goto(url);
    await browser.until<boolean>("performance.getEntriesByName('drawn').length === 1");
    return browser;
  }

  /** What an expression is in the page. Rejects with what it throws. */
  async value<T>(expression: string): Promise<T> {
    return this.#page.evaluate<T>(expression);
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
    for (const name of names) await this.#page.keyboard.press(name);
  }

  async type(text: string): Promise<void> {
    await this.#page.keyboard.insertText(text);
  }

  /** The first element that a selector means. */
  async click(selector: string): Promise<void> {
    await this.#page.locator(selector).first().click();
  }

  async screenshot(): Promise<Buffer> {
    return this.#page.screenshot();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program.close();
  }
}
