// What the frames say, by language. English is the language of every code that another one lacks.
const en = {
  card: "Card", number: "Card number", expiry: "Expiration date", cvc: "Security code", country: "Country", postal: "Postal code", zip: "ZIP code", name: "Full name", email: "Email",
  line1: "Address line 1", line2: "Address line 2", city: "City", state: "State", phone: "Phone", currency: "Currency", bank: "Confirm with your bank", cancel: "Cancel",
  lost: "Connection lost.", retrying: "Retrying. You will not be charged twice.",
  incomplete_number: "Your card number is incomplete.", invalid_number: "Your card number is invalid.",
  incomplete_expiry: "Your card's expiration date is incomplete.", invalid_expiry_month_past: "Your card's expiration date is in the past.", invalid_expiry_year_past: "Your card's expiration year is in the past.",
  incomplete_cvc: "Your card's security code is incomplete.", incomplete_zip: "Your postal code is incomplete.", incomplete_email: "Your email is incomplete.", invalid_email: "Your email is invalid.",
  incomplete_field: "This field is incomplete.",
};
export const all = {
  en,
  de: {
    card: "Karte", number: "Kartennummer", expiry: "Ablaufdatum", cvc: "Sicherheitscode", country: "Land", postal: "Postleitzahl", zip: "Postleitzahl", name: "Vollständiger Name", email: "E-Mail",
    line1: "Adresszeile 1", line2: "Adresszeile 2", city: "Ort", state: "Bundesland", phone: "Telefon", currency: "Währung", bank: "Bestätigung durch Ihre Bank", cancel: "Abbrechen",
    lost: "Verbindung unterbrochen.", retrying: "Neuer Versuch. Sie zahlen nicht doppelt.",
    incomplete_number: "Die Kartennummer ist unvollständig.", invalid_number: "Die Kartennummer ist ungültig.",
    incomplete_expiry: "Das Ablaufdatum der Karte ist unvollständig.", invalid_expiry_month_past: "Das Ablaufdatum der Karte liegt in der Vergangenheit.", invalid_expiry_year_past: "Das Ablaufjahr der Karte liegt in der Vergangenheit.",
    incomplete_cvc: "Der Sicherheitscode der Karte ist unvollständig.", incomplete_zip: "Die Postleitzahl ist unvollständig.", incomplete_email: "Die E-Mail-Adresse ist unvollständig.", invalid_email: "Die E-Mail-Adresse ist ungültig.",
    incomplete_field: "Dieses Feld ist unvollständig.",
  },
  fr: {
    card: "Carte", number: "Numéro de carte", expiry: "Date d’expiration", cvc: "Code de sécurité", country: "Pays", postal: "Code postal", zip: "Code postal", name: "Nom complet", email: "E-mail",
    line1: "Adresse, ligne 1", line2: "Adresse, ligne 2", city: "Ville", state: "État", phone: "Téléphone", currency: "Devise", bank: "Confirmation par votre banque", cancel: "Annuler",
    lost: "Connexion interrompue.", retrying: "Nouvel essai. Vous ne serez pas débité deux fois.",
    incomplete_number: "Le numéro de votre carte est incomplet.", invalid_number: "Le numéro de votre carte n’est pas valide.",
    incomplete_expiry: "La date d’expiration de votre carte est incomplète.", invalid_expiry_month_past: "La date d’expiration de votre carte est passée.", invalid_expiry_year_past: "L’année d’expiration de votre carte est passée.",
    incomplete_cvc: "Le code de sécurité de votre carte est incomplet.", incomplete_zip: "Votre code postal est incomplet.", incomplete_email: "Votre adresse e-mail est incomplète.", invalid_email: "Votre adresse e-mail n’est pas valide.",
    incomplete_field: "Ce champ est incomplet.",
  },
  es: {
    card: "Tarjeta", number: "Número de tarjeta", expiry: "Fecha de caducidad", cvc: "Código de seguridad", country: "País", postal: "Código postal", zip: "Código postal", name: "Nombre completo", email: "Correo electrónico",
    line1: "Dirección, línea 1", line2: "Dirección, línea 2", city: "Ciudad", state: "Estado", phone: "Teléfono", currency: "Moneda", bank: "Confirma con tu banco", cancel: "Cancelar",
    lost: "Se ha perdido la conexión.", retrying: "Reintentando. No se te cobrará dos veces.",
    incomplete_number: "El número de tu tarjeta está incompleto.", invalid_number: "El número de tu tarjeta no es válido.",
    incomplete_expiry: "La fecha de caducidad de tu tarjeta está incompleta.", invalid_expiry_month_past: "La fecha de caducidad de tu tarjeta ya ha pasado.", invalid_expiry_year_past: "El año de caducidad de tu tarjeta ya ha pasado.",
    incomplete_cvc: "El código de seguridad de tu tarjeta está incompleto.", incomplete_zip: "Tu código postal está incompleto.", incomplete_email: "Tu correo electrónico está incompleto.", invalid_email: "Tu correo electrónico no es válido.",
    incomplete_field: "Este campo está incompleto.",
  },
  it: {
    card: "Carta", number: "Numero di carta", expiry: "Data di scadenza", cvc: "Codice di sicurezza", country: "Paese", postal: "Codice postale", zip: "Codice postale", name: "Nome completo", email: "Email",
    line1: "Indirizzo, riga 1", line2: "Indirizzo, riga 2", city: "Città", state: "Provincia", phone: "Telefono", currency: "Valuta", bank: "Conferma con la tua banca", cancel: "Annulla",
    lost: "Connessione interrotta.", retrying: "Nuovo tentativo in corso. Non ti verrà addebitato due volte.",
    incomplete_number: "Il numero della carta è incompleto.", invalid_number: "Il numero della carta non è valido.",
    incomplete_expiry: "La data di scadenza della carta è incompleta.", invalid_expiry_month_past: "La data di scadenza della carta è già passata.", invalid_expiry_year_past: "L’anno di scadenza della carta è già passato.",
    incomplete_cvc: "Il codice di sicurezza della carta è incompleto.", incomplete_zip: "Il codice postale è incompleto.", incomplete_email: "L’indirizzo email è incompleto.", invalid_email: "L’indirizzo email non è valido.",
    incomplete_field: "Questo campo è incompleto.",
  },
  ja: {
    card: "カード", number: "カード番号", expiry: "有効期限", cvc: "セキュリティコード", country: "国", postal: "郵便番号", zip: "郵便番号", name: "氏名", email: "メールアドレス",
    line1: "住所 1", line2: "住所 2", city: "市区町村", state: "都道府県", phone: "電話番号", currency: "通貨", bank: "銀行での確認", cancel: "キャンセル",
    lost: "接続が切れました。", retrying: "再試行しています。二重に請求されることはありません。",
    incomplete_number: "カード番号に不備があります。", invalid_number: "カード番号が無効です。",
    incomplete_expiry: "カードの有効期限に不備があります。", invalid_expiry_month_past: "カードの有効期限が過ぎています。", invalid_expiry_year_past: "カードの有効期限の年が過ぎています。",
    incomplete_cvc: "セキュリティコードに不備があります。", incomplete_zip: "郵便番号に不備があります。", incomplete_email: "メールアドレスに不備があります。", invalid_email: "メールアドレスが無効です。",
    incomplete_field: "この項目に不備があります。",
  },
  ar: {
    card: "بطاقة", number: "رقم البطاقة", expiry: "تاريخ انتهاء الصلاحية", cvc: "رمز الأمان", country: "البلد", postal: "الرمز البريدي", zip: "الرمز البريدي", name: "الاسم الكامل", email: "البريد الإلكتروني",
    line1: "العنوان 1", line2: "العنوان 2", city: "المدينة", state: "الولاية", phone: "الهاتف", currency: "العملة", bank: "التأكيد مع البنك", cancel: "إلغاء",
    lost: "انقطع الاتصال.", retrying: "تتم إعادة المحاولة. لن يتم الخصم منك مرتين.",
    incomplete_number: "رقم بطاقتك غير مكتمل.", invalid_number: "رقم بطاقتك غير صالح.",
    incomplete_expiry: "تاريخ انتهاء صلاحية بطاقتك غير مكتمل.", invalid_expiry_month_past: "انتهت صلاحية بطاقتك.", invalid_expiry_year_past: "انتهت سنة صلاحية بطاقتك.",
    incomplete_cvc: "رمز أمان بطاقتك غير مكتمل.", incomplete_zip: "الرمز البريدي غير مكتمل.", incomplete_email: "بريدك الإلكتروني غير مكتمل.", invalid_email: "بريدك الإلكتروني غير صالح.",
    incomplete_field: "هذا الحقل غير مكتمل.",
  },
};

export const languages = Object.keys(all);
let chosen = en;
export const say = (word) => chosen[word] ?? en[word] ?? word;

// speak puts the page's texts into a language: data-says into what is shown, data-label into aria-label.
export function speak(locale = "en") {
  const language = String(locale).toLowerCase().split(/[-_]/)[0];
  chosen = all[language] ?? en;
  document.documentElement.lang = all[language] ? language : "en";
  document.documentElement.dir = language === "ar" ? "rtl" : "ltr";
  for (const place of document.querySelectorAll("[data-says]")) place.textContent = say(place.dataset.says);
  for (const place of document.querySelectorAll("[data-label]")) place.setAttribute("aria-label", say(place.dataset.label));
}
